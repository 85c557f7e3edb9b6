"""Files, packed files and what their lines are taken for."""

import gzip
from pathlib import Path

import pytest

from streams.ship.sources import Form, UnreadableSource, file_chunks, form_of, origin_of

USAGE = b"2026-08-13 10:54:30,000 INFO q [Usage] m:h: +1 (Today: 1 | Rem: 1 | Limit: 2)\n"
FORMS = [
    ("a.jsonl", USAGE, Form.RECORDS),
    ("a.jsonl.gz", b"", Form.RECORDS),
    ("a.ndjson", b"", Form.RECORDS),
    ("a.json", b"", Form.RECORDS),
    ("a.log", b"{}", Form.LOG),
    ("gateway.log.2.gz", b"{}", Form.LOG),
    ("-", b'{"type":"usage"}\n', Form.RECORDS),
    ("-", b"no record\n", Form.RECORDS),
    ("-", b"", Form.RECORDS),
    ("-", b"\n\n" + USAGE, Form.LOG),
    ("-", b"[2026-08-13 10:54:30] started\n", Form.LOG),
    ("-", b"gate | [PRE-BLOCK] m\n", Form.LOG),
    ("out.txt", b"gateway 2.1 starting\n" + USAGE, Form.LOG),
    ("out.txt", b"gateway 2.1 starting\n" + USAGE.rstrip(), Form.LOG),
    ("out.txt", b'# export of monday\n{"type":"usage"}\n' + USAGE, Form.RECORDS),
    ("out", b'[{"type":"usage"},\n', Form.RECORDS),
    ("-", b'{"log":"' + USAGE.strip() + b'\\n","stream":"stdout","time":"2026-08-13T02:54:30Z"}\n', Form.LOG),
    ("-", b"2026-08-13T02:54:30.1Z stdout F " + USAGE, Form.LOG),
    ("-", b'2026-08-13T02:54:30.1Z stdout F {"type":"usage"}\n', Form.RECORDS),
    ("out.txt", b"2026-08-13T10:54:30Z hello\n", Form.LOG),
]


@pytest.mark.parametrize(("name", "head", "form"), FORMS)
def test_the_name_tells_the_form_or_else_the_first_line_that_does(name: str, head: bytes, form: Form) -> None:
    """In doubt they are records: what cannot be read is then kept, not passed over."""
    assert form_of(Path(name), head) == form


@pytest.mark.parametrize("name", ["a.log", "a.log.gz"])
def test_a_file_is_read_whole_packed_or_not(tmp_path: Path, name: str) -> None:
    """Unpacked bytes in chunks; the position reaches the size of the file on the disk."""
    content = USAGE * 20_000
    path = tmp_path / name
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    chunks = list(file_chunks(path))
    assert b"".join(chunk.data for chunk in chunks) == content
    assert chunks[-1].position == path.stat().st_size


def test_two_packed_files_in_one_are_both_read(tmp_path: Path) -> None:
    """Rotated logs are often joined so."""
    path = tmp_path / "a.log.gz"
    path.write_bytes(gzip.compress(b"a\n") + gzip.compress(b"b\n"))
    assert b"".join(chunk.data for chunk in file_chunks(path)) == b"a\nb\n"


@pytest.mark.parametrize(
    "content", [gzip.compress(USAGE * 50)[:-20], b"not packed at all", gzip.compress(USAGE)[:12] + b"xyz"]
)
def test_a_damaged_file_is_the_operators(tmp_path: Path, content: bytes) -> None:
    """One sentence with the file's name."""
    path = tmp_path / "a.log.gz"
    path.write_bytes(content)
    with pytest.raises(UnreadableSource, match=r"a\.log\.gz: damaged"):
        list(file_chunks(path))


def test_a_missing_file_is_the_operators(tmp_path: Path) -> None:
    """One sentence with the file's name."""
    with pytest.raises(UnreadableSource, match="nonesuch: No such file"):
        list(file_chunks(tmp_path / "nonesuch"))


def test_an_origin_is_always_text() -> None:
    """A name with bytes that are none must not stop a dead letter."""
    assert origin_of(Path("/logs/\udcff.log")) == "/logs/\\xff.log"
    assert origin_of(Path("-")) == "stdin"
    assert Path(origin_of(Path("a.log"))).is_absolute()
