"""The way in: bytes of any accepted format, told apart by their content, become a record or a rejection.

Rule 1: nothing that is sent raises.
Rule 2: our own shapes are the hot path (the decoder takes each message, all the rest is done for a whole batch); every
other format and every fault takes the slow one, message by message, with the same answers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import tzinfo
from itertools import repeat
from operator import contains
from typing import Any

import msgspec

from rules.calls import Calls
from rules.intake import cloudevents, litellm, log_line, own
from rules.intake.faults import rejection
from rules.intake.fields import Unfit, excerpt
from rules.intake.wire import TYPES, UsageWire, Wire
from rules.records import Reason, Record, Rejected, Usage

_ours = msgspec.json.Decoder(Wire)
_decode, _decode_lines = _ours.decode, _ours.decode_lines
_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_text = msgspec.json.Decoder(str).decode

_Faults = (ValueError, RecursionError)  # msgspec's errors and UnicodeDecodeError are ValueErrors

_BACKSLASH, _DELETE = b"\\"[0], 0x7F  # as numbers they are found faster
_BEGINNING = len(b'{"type":"usage"')
_control = re.compile(rb"\\(?:[bfnrt]|u00(?:[01][0-9A-Fa-f]|7[Ff]))").search


class Intake:
    """Reads what gateways, pollers, operators and logs write. A time without a zone is one of `zone`."""

    def __init__(self, zone: tzinfo) -> None:
        self._zone = zone

    def read(self, raw: bytes) -> Record | Rejected | None:
        """One message, or one line of a `.jsonl` file. None: understood and of no consequence (a refusal of ours)."""
        try:
            if not raw.isascii():
                raw.decode()  # the decoder passes over fields that nobody asked for
            wire = _decode(raw)
            made = own.RECORD[type(wire)](wire, self._zone)
            return own.check_names(made) if _may_hold_control(raw) else made
        except Unfit as unfit:
            return unfit.rejected
        except _Faults as fault:
            return self._read_slowly(raw, fault)

    def read_batch(self, raws: Sequence[bytes]) -> list[Record | Rejected | None]:
        """What `read` says of each message, at a fraction of the cost where all of them are sound."""
        try:
            zone = self._zone
            return [own.RECORD[type(wire)](wire, zone) for wire in _each_sound(raws)]
        except (Unfit, *_Faults):
            return [self.read(raw) for raw in raws]

    def read_usage(self, raws: Sequence[bytes]) -> Calls | None:
        """Messages that are events of usage and nothing else, at half of that cost; None: use `read_batch`."""
        return self._usage(_each_sound, raws)

    def read_usage_lines(self, lines: bytes, count: int, *, alike: bool = False) -> Calls | None:
        """The same of so many lines as they stand in a file, the last one without its break. `alike`: what `are_alike`
        says of them, if it was asked."""
        return self._usage(_sound, lines, count, alike)

    def _usage(self, read: Callable[..., list[Any]], *given: Any) -> Calls | None:
        try:
            wires = read(*given)
            return own.calls(wires, self._zone) if set(map(type, wires)) == {UsageWire} else None
        except (Unfit, *_Faults):
            return None

    def read_log(self, raw: bytes) -> Record | Rejected | None:
        """One line of a log file. None: a line of another program."""
        if raw.lstrip()[:1] == b"{":
            found = self.read(raw)
            return None if isinstance(found, Rejected) and not _is_ours(raw) else found
        try:
            return log_line.log_record(raw.decode("utf-8", "replace"), self._zone)
        except Unfit as unfit:
            return unfit.rejected

    def _read_slowly(self, raw: bytes, fault: Exception) -> Record | Rejected | None:
        try:
            if raw.lstrip()[:1] == b"{":
                return self._read_object(raw, fault)
            return self._read_text(raw, fault)
        except Unfit as unfit:
            return unfit.rejected
        except _Faults as other:
            return rejection(other)

    def _read_object(self, raw: bytes, fault: Exception) -> Record | Rejected | None:
        raw.decode()
        try:
            members = _members(raw)
        except msgspec.DecodeError:
            return self._read_mended(raw)
        if cloudevents.is_cloud_event(members):
            return cloudevents.cloud_usage(raw, self._zone)
        kind = members.get("type")
        if kind is None:
            if litellm.is_litellm(members):
                return litellm.litellm_usage(raw, self._zone)
            return Rejected(Reason.MISSING_FIELD, "the required field `type` is missing")
        return _own_fault(bytes(kind), fault)

    def _read_mended(self, raw: bytes) -> Usage | None:
        """What is no JSON may still be a call whose client wrote half a character, and then it is metered."""
        mended = litellm.mended(raw)
        if mended == raw or not litellm.is_litellm(_members(mended)):
            _members(raw)  # raises what is wrong with it
        return litellm.litellm_usage(mended, self._zone)

    def _read_text(self, raw: bytes, fault: Exception) -> Record | Rejected:
        found = log_line.log_record(raw.decode("utf-8", "replace"), self._zone)
        if found is not None:
            return found
        raw.decode()
        if isinstance(fault, msgspec.ValidationError):
            return rejection(fault)
        return Rejected(
            Reason.NOT_JSON, "empty" if not raw.strip() else f"neither JSON nor a known log line: {_beginning(raw)}"
        )


def are_alike(lines: bytes, count: int) -> bool:
    """Whether all of so many lines begin as the first does, and all but the last end like an object.

    Mostly they do, and a long pattern is found at half the cost of a short one.
    """
    return lines.count(b"}\n" + lines[:_BEGINNING]) == count - 1


def _each_sound(raws: Sequence[bytes]) -> list[Any]:
    """Our shapes, one in each message. Raises ValueError or Unfit if anything is wrong with any of them."""
    if not all(map(bytes.isascii, raws)):
        for raw in raws:
            raw.decode()
    wires = list(map(_decode, raws))
    if any(map(contains, raws, repeat(_DELETE))) or any(map(contains, raws, repeat(_BACKSLASH))):
        _check_names(raws, wires)
    return wires


def _sound(lines: bytes, count: int, alike: bool) -> list[Any]:
    """Our shapes in so many lines. Raises ValueError or Unfit if anything is wrong with any of them.

    The decoder takes several objects in a line, and one that stands in several. Where every line begins and ends like
    an object none goes on in the next line, as no object may follow another's end within a third.
    """
    if lines[:1] != b"{" or lines[-1:] != b"}" or not (alike or lines.count(b"}\n{") == count - 1):
        raise ValueError
    if not lines.isascii():
        lines.decode()
    wires = _decode_lines(lines)
    if len(wires) != count:
        raise ValueError
    if _may_hold_control(lines):
        _check_names(lines.split(b"\n"), wires)
    return wires


def _check_names(raws: Sequence[bytes], wires: Sequence[Any]) -> None:
    for raw, wire in zip(raws, wires, strict=True):
        if _may_hold_control(raw):
            own.check_names(wire)


def _may_hold_control(raw: bytes) -> bool:
    """Whether a control character may come through JSON here. An escaped backslash only costs a second look."""
    return b"\x7f" in raw or (b"\\" in raw and _control(raw) is not None)


def _own_fault(kind: bytes, fault: Exception) -> Rejected:
    """`fault` is the decoder's; it is about our own shapes only if the type is one of ours."""
    name = _text(kind) if kind.startswith(b'"') else ""
    if kind.startswith(b'"') and name not in TYPES:
        return Rejected(Reason.UNKNOWN_TYPE, f"type: {excerpt(name)} is not known")
    return rejection(fault)


def _is_ours(raw: bytes) -> bool:
    """Whether a broken object in a log file was meant for us: other programs write JSON into logs, too."""
    try:
        members = _members(raw)
        kind = bytes(members.get("type", b""))
        return (
            cloudevents.is_cloud_event(members)
            or litellm.is_litellm(members)
            or (kind[:1] == b'"' and _text(kind) in TYPES)
        )
    except _Faults:
        return False


def _beginning(raw: bytes) -> str:
    return excerpt(raw[:160].decode("utf-8", "replace"))
