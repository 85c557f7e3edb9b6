"""Where a program keeps what it must remember."""

from pathlib import Path

import pytest

from streams.settings import state_directory


def test_the_state_directory_is_the_one_of_the_desktop_standard(monkeypatch: pytest.MonkeyPatch) -> None:
    """`XDG_STATE_HOME` if it is set and not empty, else below the home directory."""
    monkeypatch.setenv("XDG_STATE_HOME", "/var/state")
    assert state_directory() == Path("/var/state")
    for missing in ("", None):
        monkeypatch.setenv("XDG_STATE_HOME", "") if missing == "" else monkeypatch.delenv("XDG_STATE_HOME")
        assert state_directory() == Path.home() / ".local" / "state"
