"""The command from end to end, on the embedded broker."""

from __future__ import annotations

import gzip
import time
from collections import Counter
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from click.testing import CliRunner, Result

import streams
from rules.dead_letter import DeadLetter
from rules.intake.reader import Intake
from rules.records import Clock, Reading, Reason, Refusal, Usage
from streams.commands.ship import command
from streams.embedded.server import free_port
from tests.hostile import LIMIT, hostile_lines

SAMPLES = Path(streams.__file__).parent / "samples"
RECORDINGS = [str(SAMPLES / f"incident-2026-08-{day}.log") for day in (12, 13)]
INTAKE = Intake(ZoneInfo("Asia/Shanghai"))
GOOD = b'{"type":"usage","id":"good","ts":"2026-08-13T11:08:00+08:00","model":"m","total_tokens":5}'


def run(*arguments: object) -> Result:
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


def records(found: list[Any]) -> list[Any]:
    return [INTAKE.read(record.value) for record in found]


@pytest.mark.embedded
def test_a_recording_arrives_whole(target: Any) -> None:
    """Every line of ours is a record, the others are counted, and the summary says so."""
    result = run(*RECORDINGS, *target.options)
    assert result.exit_code == 0, result.output
    usage, balances = records(target.read(target.topics.usage)), target.read(target.topics.balances)
    assert Counter(map(type, usage)) == {Usage: 382, Refusal: 1}
    assert sum(record.total_tokens for record in usage if isinstance(record, Usage)) == 1_696_135 + 665_268
    assert [record.available for record in records(balances)] == [1558307, 596869, 2242178, 2242063, 1726526]
    assert dict(balances[-1].headers)["origin"].endswith(b"incident-2026-08-13.log:164")
    assert {line.strip() for line in result.output.splitlines()[1:]} >= {
        "usage" + " " * 19 + "382",
        "skipped lines" + " " * 13 + "2",
    }


@pytest.mark.embedded
def test_a_copy_meets_its_twin(target: Any, tmp_path: Path) -> None:
    """Shipped again as a packed copy under another path, each event has the id, key and partition it had."""
    run(RECORDINGS[1], *target.options)
    copy = tmp_path / "copy.log.gz"
    copy.write_bytes(gzip.compress(Path(RECORDINGS[1]).read_bytes()))
    run(copy, *target.options)
    found = target.read(target.topics.usage)
    assert len(found) == 2 * 161
    assert set(Counter((record.partition, record.key, record.value) for record in found).values()) == {2}


@pytest.mark.embedded
def test_malformed_lines_become_dead_letters_and_stop_nothing(target: Any, tmp_path: Path) -> None:
    """As many keys as lines, each with reason, size and beginning; the good event behind them arrives."""
    lines = hostile_lines(1000, seed=3)
    file = tmp_path / "hostile.jsonl"
    file.write_bytes(b"\n".join([*lines, b"", b"  \t", GOOD]))
    result = run(file, *target.options)
    assert result.exit_code == 0, result.output
    assert f"the first dead letter: {file}:1: " in result.output
    found = target.read(target.topics.dead_letters)
    assert {record.key.decode() for record in found} == {f"{file}:{number}" for number in range(1, 1001)}
    letters = {record.key.decode(): DeadLetter.decode(record.value) for record in found}
    for number, line in enumerate(lines, 1):
        letter = letters[f"{file}:{number}"]
        assert (letter.size, letter.body) == (len(line), line.removesuffix(b"\r")[: 16 * 1024])
        assert letter.detail
        assert (letter.reason == Reason.TOO_LARGE) == (len(line) > LIMIT)
    assert [record.key for record in target.read(target.topics.usage)] == [b"good"]
    assert target.read(target.topics.balances) == target.read(target.topics.controls) == []


@pytest.mark.embedded
def test_records_of_every_kind_go_to_their_topics(target: Any, tmp_path: Path) -> None:
    """Controls and readings as well as usage; a clock in a file is refused."""
    file = tmp_path / "mixed.jsonl"
    file.write_text(
        '{"type":"balance","id":"b","ts":1786590480,"model":"m","available":7}\n'
        '{"type":"calibration","id":"c","ts":1786590480,"model":"m","day":"2026-08-13","pool":7}\n'
        '{"type":"control","id":"k","ts":1786590480,"by":"op","why":"w","action":"kill","scope":"global"}\n'
        '{"type":"clock","ts":1786590480}\n'
    )
    said = run(file, *target.options).output
    assert f"the first dead letter: {file}:4: only `ship --clock event` may move the clock" in said
    assert [record.id for record in records(target.read(target.topics.balances))] == ["b", "c"]
    assert [record.id for record in records(target.read(target.topics.controls))] == ["k"]
    (letter,) = [DeadLetter.decode(record.value) for record in target.read(target.topics.dead_letters)]
    assert letter.reason == Reason.WRONG_TOPIC


@pytest.mark.embedded
def test_recordings_bring_their_own_clock(target: Any) -> None:
    """On topics of their own; in every partition each record stands behind a clock within a minute of it."""
    result = run("--clock", "event", *reversed(RECORDINGS), *target.options)
    assert result.exit_code == 0, result.output
    topics = target.event_topics
    for topic in (topics.usage, topics.balances, topics.controls):
        found = target.read(topic)
        for partition in range(8):
            in_order = records([record for record in found if record.partition == partition])
            assert isinstance(in_order[0], Clock)
            assert isinstance(in_order[-1], Clock)
            assert in_order[-1].at == 1_786_591_320_000  # 2026-08-13 11:22:00, the last line
            now = 0
            for record in in_order:
                if isinstance(record, Clock):
                    assert record.at > now
                    now = record.at
                else:
                    assert now < record.at <= now + 60_000
    balances = [found for found in records(target.read(topics.balances)) if not isinstance(found, Clock)]
    assert [found.available for found in balances if isinstance(found, Reading)][:2] == [1558307, 596869]


@pytest.mark.embedded
def test_the_zone_is_that_of_the_option_or_the_policy(
    target: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Naive times are read in it."""
    policy = tmp_path / "policy.yaml"
    policy.write_text("timezone: UTC\n")
    log = tmp_path / "a.log"
    log.write_text(Path(RECORDINGS[1]).read_text().splitlines()[0] + "\n")
    run(log, *target.options)
    run(log, "--zone", "Asia/Tokyo", *target.options)
    monkeypatch.setenv("BLASTDOOR_POLICY", str(policy))
    run(log, *target.options)
    times = [record.at for record in records(target.read(target.topics.balances))]
    assert [(at - times[0]) // 3_600_000 for at in times] == [0, -1, 8]


@pytest.mark.embedded
def test_a_damaged_file_keeps_the_others_from_nothing(target: Any, tmp_path: Path) -> None:
    """What could be read of it is shipped, and so are the files behind it; then the operator is told."""
    damaged = tmp_path / "damaged.log.gz"
    damaged.write_bytes(gzip.compress(Path(RECORDINGS[0]).read_bytes() * 40)[:-1000])
    result = run(damaged, RECORDINGS[1], *target.options)
    assert result.exit_code == 2
    assert "damaged.log.gz: damaged" in result.output
    assert len(target.read(target.topics.usage)) > 161


OPERATORS_MISTAKES = [
    (["--follow", "--clock", "event", RECORDINGS[0]], "--clock event"),
    (["--follow", "-"], "--follow is for files"),
    (["nonesuch.log"], "no such file"),
    ([str(SAMPLES)], "not a file"),
    (["--zone", "Mars/Olympus", RECORDINGS[0]], "no zone is called 'Mars/Olympus'"),
    (["--as", "csv", RECORDINGS[0]], "csv"),
    ([], "Missing argument"),
]


@pytest.mark.parametrize(("arguments", "says"), OPERATORS_MISTAKES, ids=[says for _, says in OPERATORS_MISTAKES])
def test_a_mistake_of_the_operator_is_told_at_once(arguments: list[str], says: str) -> None:
    """Before anything is connected to or sent, with exit code 2."""
    result = run(*arguments, "--kafka", "127.0.0.1:1")
    assert result.exit_code == 2
    assert says in result.output


def test_a_broker_that_is_not_there_is_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    """Told within the minute, without the client's own talk."""
    began = time.monotonic()
    result = run(RECORDINGS[1], "--kafka", f"127.0.0.1:{free_port()}")
    assert time.monotonic() - began < 60
    assert result.exit_code == 2
    assert result.output.startswith("Error: no Kafka broker answers at 127.0.0.1:")
    assert result.output.count("\n") == 1
    assert capfd.readouterr().err == ""


def test_the_help_shows_how() -> None:
    """Examples for each way of shipping."""
    text = run("--help").output
    for example in ("blastdoor ship --follow", "blastdoor ship -", "--clock event"):
        assert example in text
