"""The compiled library, loaded once, and how to call it. The functions are described in `src/calls.rs`
and `src/sheet_calls.rs`.

Pointers are good for the length of a call; an answer holds until the counter's next call. Calls keep Python's lock: no
two threads are in the library at once.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from ctypes import PyDLL, Structure, c_char_p, c_int, c_int64, c_size_t, c_uint64, c_void_p, string_at
from functools import cache
from pathlib import Path
from typing import Any

PATH = Path(__file__).with_name("counting.so")
VERSION = 2  # of the functions; the library's own must be the same

DONE, NOT_PLAIN = 0, 1
SIGNED, UNSIGNED = "q", "Q"


class Answer(Structure):
    """Where the results of a call lie."""

    _fields_ = (("numbers", c_void_p), ("count", c_size_t), ("text", c_void_p), ("length", c_size_t))
    numbers: int | None
    count: int
    text: int | None
    length: int


class Texts(Structure):
    """Texts one after another, and where their lengths stand; it keeps what it points to."""

    _fields_ = (("bytes", c_char_p), ("lengths", c_void_p), ("count", c_size_t))

    @classmethod
    def of(cls, texts: Sequence[bytes]) -> Texts:
        lengths = array("I", map(len, texts))
        made = cls(b"".join(texts), lengths.buffer_info()[0], len(lengths))
        made.kept = lengths
        return made


class Numbers(Structure):
    """64-bit numbers; it keeps what it points to."""

    _fields_ = (("items", c_void_p), ("count", c_size_t))

    @classmethod
    def of(cls, numbers: Iterable[int], kind: str = SIGNED) -> Numbers:
        """Raises OverflowError."""
        items = array(kind, numbers)
        made = cls(items.buffer_info()[0], len(items))
        made.kept = items
        return made


_ARGUMENTS: dict[str, list[Any]] = {
    "adopt": [Texts, Texts],
    "name": [Texts],
    "read": [Texts, Numbers, c_int64, c_int64],
    "count": [c_uint64, Numbers, c_int64],
    "note": [c_uint64, Numbers],
    "tell_apart": [Texts, Numbers, Numbers],
    "trim": [c_int64],
    "begin_day": [Texts],
    "drop_day": [c_size_t],
    "fold": [c_size_t, Texts, Numbers, c_int],
    "restore": [c_size_t, Texts, Numbers, Numbers],
    "settle": [],
    "tenants": [c_size_t, c_size_t],
    "sheet": [c_size_t, c_size_t],
    "journal": [],
}


class NativeError(RuntimeError):
    """The library met what it should never meet. What it holds is not to be trusted any more."""


@cache
def library() -> PyDLL | None:
    """None where it was not built, or was for another version of this package: then Python counts."""
    try:
        found = PyDLL(str(PATH))
        if found.blastdoor_version() != VERSION:
            return None
    except (OSError, AttributeError):
        return None
    found.blastdoor_new.argtypes, found.blastdoor_new.restype = [c_int64, c_size_t, c_size_t, c_size_t], c_void_p
    found.blastdoor_free.argtypes, found.blastdoor_free.restype = [c_void_p], None
    for name, arguments in _ARGUMENTS.items():
        getattr(found, f"blastdoor_{name}").argtypes = [c_void_p, *arguments]
    return found


class Handle:
    """One counter of the library."""

    def __init__(self, window: int, models: int, values: int, tenants: int) -> None:
        """Raises NativeError where there is no library."""
        found = library()
        if found is None:
            raise NativeError(f"{PATH} is not there, or not of this version")
        self._free = found.blastdoor_free
        self._pointer = found.blastdoor_new(window, models, values, tenants)
        self._answer = Answer.from_address(self._pointer)
        self._functions: dict[str, Callable[..., int]] = {
            name: getattr(found, f"blastdoor_{name}") for name in _ARGUMENTS
        }

    def __del__(self) -> None:
        if hasattr(self, "_pointer"):
            self._free(self._pointer)

    def call(self, name: str, *arguments: Any) -> int:
        """DONE or NOT_PLAIN. Raises NativeError."""
        status = self._functions[name](self._pointer, *arguments)
        if status < DONE:
            raise NativeError(f"{name} failed; what the library says of it stands on standard error")
        return status

    def numbers(self) -> array[int]:
        """Of the last answer, copied."""
        found = array("q")
        if self._answer.count:
            found.frombytes(string_at(self._answer.numbers or 0, self._answer.count * found.itemsize))
        return found

    def text(self) -> bytes:
        """Of the last answer, copied."""
        return string_at(self._answer.text or 0, self._answer.length) if self._answer.length else b""


def cut(text: bytes, lengths: Iterable[int]) -> Iterator[str]:
    """Names that stand one after another in an answer."""
    end = 0
    for length in lengths:
        begin, end = end, end + length
        yield text[begin:end].decode("utf-8", "surrogatepass")


def encoded(name: str) -> bytes:
    """A name as the library holds it."""
    return name.encode("utf-8", "surrogatepass")
