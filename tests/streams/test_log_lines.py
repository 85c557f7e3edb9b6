"""Log lines for people and for machines."""

from __future__ import annotations

import io
import json
import logging
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from streams.commands.worker import command
from streams.log_lines import FORMATS, line_maker, told
from streams.settings import Settings, SettingsError


def written(form: str, *arguments: Any, **options: Any) -> str:
    """What a logger with this format writes."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(line_maker(form))
    logger = logging.Logger("streams.test")
    logger.addHandler(handler)
    logger.info(*arguments, **options)
    return stream.getvalue()


@given(st.text())
def test_a_line_is_one_line(name: str) -> None:
    """Whatever a stranger calls a model: it cannot begin a line that looks like ours."""
    for form in FORMATS:
        line = written(form, "%s is now %s", f"model:{name}", "block")
        assert line.endswith("\n")
        assert len(line.splitlines()) == 1
        assert "is now block" in line


def test_json_has_the_sentence_and_the_fields() -> None:
    """The time with its zone, level, logger, message, and what was told beside it."""
    line = json.loads(written("json", "%s is now %s", "model:模型", "block", extra=told(event="decision", limit=None)))
    assert line.pop("time").endswith("+00:00")
    assert line == {
        "level": "INFO",
        "logger": "streams.test",
        "message": "model:模型 is now block",
        "event": "decision",
        "limit": None,
    }


def test_an_error_stays_on_the_line() -> None:
    """A traceback is a field, so that whoever collects lines gets all of it."""
    try:
        raise ValueError("first\nsecond")
    except ValueError:
        (line,) = written("json", "it failed", exc_info=True).splitlines()
    assert "ValueError: first\nsecond" in json.loads(line)["error"]


def test_people_are_spared_the_fields() -> None:
    """The sentence has them already."""
    line = written("human", "m is now block", extra=told(event="decision"))
    assert line.endswith("INFO streams.test: m is now block\n")


@pytest.mark.parametrize("name", ["BLASTDOOR_LOG_FORMAT", "BLASTDOOR_TRACES"])
def test_an_unknown_choice_is_a_mistake(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Told with the known ones, before anything starts."""
    monkeypatch.setenv(name, "perhaps")
    with pytest.raises(SettingsError, match=f"{name} is one of [a-z]+, [a-z]+"):
        Settings.from_environment()


def test_an_option_wins_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with all settings."""
    monkeypatch.setenv("BLASTDOOR_LOG_FORMAT", "json")
    assert Settings.from_environment().log_format == "json"
    assert Settings.from_environment(log_format="human").log_format == "human"
    assert CliRunner().invoke(command, ["--log-format", "xml"]).exit_code == 2
