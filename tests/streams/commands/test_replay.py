"""`blastdoor replay`: any mix of formats, a report on each formula, a picture, exit codes."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from streams.commands.replay import command

SAMPLES = Path(__file__).parents[3] / "streams" / "samples"
FIRST, SECOND = SAMPLES / "incident-2026-08-12.log", SAMPLES / "incident-2026-08-13.log"
MODEL = "deepseek-v4-flash-ga-260731"


def run(*arguments: object, code: int = 0) -> Result:
    found = CliRunner().invoke(command, [str(word) for word in arguments], env={"BLASTDOOR_POLICY": None})
    assert found.exit_code == code, found.output
    return found


def lines(*arguments: object) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run(*arguments, "--json").stdout.splitlines()]


def as_records(tmp_path: Path) -> Path:
    """The second day as JSON lines, packed: another producer's form of the same events."""
    found = []
    for number, line in enumerate(SECOND.read_text(encoding="utf-8").splitlines()):
        at = line[:23].replace(" ", "T").replace(",", ".") + "+08:00"
        if "Checking" in line:
            available = int(line.split("Bal: ")[1].split(", Rem")[0].replace(",", ""))
            found.append({"type": "balance", "id": f"b{number}", "ts": at, "model": MODEL, "available": available})
        else:
            tokens = int(line.split(": +")[1].split(" ")[0])
            found.append({"type": "usage", "id": f"u{number}", "ts": at, "model": MODEL, "total_tokens": tokens})
    path = tmp_path / "second.jsonl.gz"
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(f"{json.dumps(record)}\n" for record in found)
    return path


def numbers(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in line.items() if name != "id"} for line in found]


def test_formats_mix(tmp_path: Path) -> None:
    """A log and packed JSON lines, in any order, lead to what the two logs lead to."""
    mixed = lines(as_records(tmp_path), FIRST)
    assert numbers(mixed) == numbers(lines(FIRST, SECOND))


def test_the_figures_of_the_incident() -> None:
    """At 11:22 the pool was known to 415 tokens, and v6 would have been 99,466 tokens beyond it but for the cap."""
    last = [line for line in lines(FIRST, SECOND) if line["ts"] == "2026-08-13T11:22:00.000+08:00"]
    assert {line["formula"]: line["limit"] for line in last}["interval"] == 2_000_000
    assert {(line["pool_low"], line["pool_high"]) for line in last} == {(2_241_913, 2_242_328)}


def test_the_report_tells_the_false_block_of_v4() -> None:
    """437,828 free tokens refused on 08-12, one false block, and 303,865 of the cap shut out in the evening; the other
    formulas refused nothing while they had a limit."""
    report = {line["formula"]: line for line in lines(FIRST, "--report")}
    assert report["v4"]["refused_free"] == [437_828, 437_828]
    assert report["v4"]["false_blocks"] == 1
    assert report["v4"]["unused"] == [303_865, 303_865]
    assert all(report[name]["refused_free"] == [0, 0] for name in ("interval", "v2", "v5", "v6"))
    assert all(line["charged"] == [0, 0] for line in report.values())


def test_a_person_reads_the_same_report() -> None:
    """In 80 columns, with what the gate itself refused, and what each column means."""
    told = run(FIRST, SECOND, "--report").stdout
    assert "437,828" in told
    assert "The gate of the recording refused 1 call, 1 of them though free." in told
    assert "1,696,135+16/296,869" in told
    assert "beyond        how far the limit stood above the free pool" in told
    assert "what was known" not in told
    assert max(map(len, told.splitlines())) <= 80


def test_tables_fit_a_terminal() -> None:
    """No number is cut, whatever the formulas."""
    told = run(FIRST, SECOND).stdout
    assert "…" not in told
    assert "296,869*" in told
    assert max(map(len, told.splitlines())) <= 80


def test_json_lines_stay_lines_of_readings() -> None:
    """One per reading and formula, without the report unless it is asked for."""
    found = lines(FIRST, SECOND, "--formula", "v6", "--formula", "interval")
    assert len(found) == 5 * 2
    assert all("ts" in line for line in found)


def test_since_and_until_choose_what_is_shown() -> None:
    """What lies before is judged as well, what lies after is not even read."""
    whole = lines(FIRST, SECOND)
    part = lines(FIRST, SECOND, "--since", "2026-08-12 14:00", "--until", "2026-08-13 11:08")
    assert part == [line for line in whole if "2026-08-12T14" < line["ts"] < "2026-08-13T11:09"]
    report = lines(FIRST, SECOND, "--since", "2026-08-13", "--report")
    assert {line["days"] for line in report} == {1}


def test_a_recording_without_readings_ends_with_three(tmp_path: Path) -> None:
    """There is nothing to judge by, and a script hears of it."""
    path = tmp_path / "usage.jsonl"
    path.write_text('{"type":"usage","id":"1","ts":"2026-08-13T11:00:00Z","model":"m","total_tokens":1}\n')
    found = run(path, code=3)
    assert "0 readings, 1 calls" in found.stdout
    assert found.stderr == "Error: there are 1 calls, but no balance reading to judge by\n"


@pytest.mark.parametrize("more", [[], ["--json"], ["--report"]])
def test_what_is_no_recording_is_told(tmp_path: Path, more: list[str]) -> None:
    """With the place and the reason of the first line, and 3, however it was to be shown."""
    path = tmp_path / "notes.txt"
    path.write_text("dear diary\n")
    said = run(path, *more, code=3).stderr
    assert said.startswith(f"Error: this is no recording: nothing in it is usage or a balance reading; {path}:1: ")


def test_a_span_without_readings_ends_with_three() -> None:
    """Though the recording has some."""
    assert "between --since and --until" in run(FIRST, "--since", "2027-01-01", code=3).stderr


def test_mistakes_have_codes(tmp_path: Path) -> None:
    """1: the policy; 2: a damaged file, a picture that cannot be."""
    policy, damaged = tmp_path / "policy.yaml", tmp_path / "damaged.jsonl.gz"
    policy.write_text("timezone: Nowhere\n", encoding="utf-8")
    damaged.write_bytes(b"\x1f\x8b\x08 no gzip")
    run(FIRST, "--policy", policy, code=1)
    assert "damaged.jsonl.gz" in run(damaged, code=2).stderr
    assert ".svg or .png" in run(FIRST, "--plot", tmp_path / "picture.gif", code=2).stderr


def test_what_cannot_be_read_is_counted(tmp_path: Path) -> None:
    """It stops nothing, and the summary says how much it was."""
    path = tmp_path / "mixed.jsonl"
    path.write_text('{"type":"balance","id":"b","ts":"2026-08-13T11:00:00Z","model":"m","available":5}\nnonsense\n')
    assert "1 unreadable" in (told := run(path).stdout)
    assert f"the first that could not be read: {path}:2: " in told


def test_a_missing_library_is_named_before_anything_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the command that installs it."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    found = run(FIRST, "--plot", tmp_path / "picture.svg", code=2)
    assert "pip install 'blastdoor[plot]'" in found.stderr
    assert found.stdout == ""


def test_the_picture_is_written(tmp_path: Path) -> None:
    """Beside the tables, which stay as they are."""
    pytest.importorskip("matplotlib")
    picture = tmp_path / "incident.svg"
    assert run(FIRST, SECOND, "--plot", picture).stdout == run(FIRST, SECOND).stdout
    assert picture.read_text(encoding="utf-8").startswith("<?xml")


def test_a_picture_that_cannot_be_written_ends_with_two(tmp_path: Path) -> None:
    """The reason is the system's own."""
    pytest.importorskip("matplotlib")
    assert "No such file" in run(FIRST, "--plot", tmp_path / "missing" / "picture.svg", code=2).stderr
