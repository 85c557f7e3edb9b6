"""Lines come out whole whatever the cut of the chunks, and a huge one costs no memory."""

import tracemalloc
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from rules.dead_letter import KEPT
from streams.ship.lines import LINE_LIMIT, Line, LineSplitter

contents = st.lists(st.sampled_from([b"a", b"bc", b"\n", b"\r\n", b"\r", b"\xef\xbb\xbf", b"{}"]), max_size=30).map(
    b"".join
)


def split(chunks: list[bytes]) -> list[Line]:
    splitter = LineSplitter()
    lines = [line for chunk in chunks for line in splitter.feed(chunk)]
    rest = splitter.rest()
    return lines if rest is None else [*lines, rest]


@given(contents, st.lists(st.integers(0, 60), max_size=6))
def test_the_cut_of_the_chunks_changes_nothing(content: bytes, cuts: list[int]) -> None:
    """Whole, byte by byte or in any pieces: the same lines, numbered from one, without their breaks."""
    edges = sorted({0, len(content), *(cut for cut in cuts if cut < len(content))})
    pieces = [content[start:stop] for start, stop in pairwise(edges)]
    lines = split([content])
    assert split(pieces) == split([content[i : i + 1] for i in range(len(content))]) == lines
    expected = content.split(b"\n")[: len(lines)]
    if expected:
        expected[0] = expected[0].removeprefix(b"\xef\xbb\xbf")
    assert [line.body for line in lines] == [body.removesuffix(b"\r") for body in expected]
    assert [line.number for line in lines] == list(range(1, len(lines) + 1))


@given(contents)
def test_the_splitter_knows_where_its_last_line_ended(content: bytes) -> None:
    """Reading on from there gives the lines that were not complete."""
    splitter = LineSplitter()
    lines = list(splitter.feed(content))
    assert (splitter.number, splitter.offset) == (len(lines), content.rfind(b"\n") + 1)


def test_a_line_of_the_greatest_length_is_whole() -> None:
    """The limit itself is still within it."""
    (line,) = split([b"x" * LINE_LIMIT])
    assert (len(line.body), line.is_too_large) == (LINE_LIMIT, False)


def test_of_a_longer_line_the_beginning_and_the_size_are_kept() -> None:
    """And the next line is none the worse."""
    chunks = [b"ab", *[b"x" * 100_000] * 30, b"y\nnext\n"]
    line, after = split(chunks)
    assert (line.size, line.is_too_large, line.body) == (3_000_003, True, b"ab" + b"x" * (KEPT - 2))
    assert after == Line(2, b"next", 4)


def test_a_line_of_100_mb_is_never_held() -> None:
    """Memory stays at a few chunks."""
    splitter, chunk = LineSplitter(), b"x" * 262_144
    tracemalloc.start()
    for _ in range(400):
        assert list(splitter.feed(chunk)) == []
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2_000_000
