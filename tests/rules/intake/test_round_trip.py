"""What `encode` writes, the reader understands: every record comes back as it was."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from rules.intake.fields import MOST_TOKENS
from rules.intake.reader import Intake
from rules.intake.wire import encode
from rules.moment import EARLIEST, LATEST
from rules.records import (
    Calibration,
    Clock,
    Control,
    ControlAction,
    Package,
    Reading,
    Record,
    Refusal,
    Usage,
)

visible = st.characters(exclude_categories=("Cs", "Cc"))
texts = st.text(visible, max_size=40)
names = st.text(visible, min_size=1, max_size=40).filter(lambda name: not name.isspace())
instants = st.integers(EARLIEST, LATEST - 1)
tokens = st.integers(0, MOST_TOKENS // 3)
ids = {"id": names, "at": instants, "model": names}


@st.composite
def usages(draw: st.DrawFn) -> Usage:
    prompt, completion = draw(tokens), draw(tokens)
    return Usage(
        id=draw(names),
        at=draw(instants),
        model=draw(names),
        total_tokens=prompt + completion + draw(tokens),
        prompt_tokens=prompt,
        completion_tokens=completion,
        cached_tokens=draw(st.integers(0, prompt)),
        tenant=draw(texts),
        department=draw(texts),
        user=draw(texts),
        knowledge_base=draw(texts),
        key_hash=draw(texts),
        status=draw(texts),
        cache_hit=draw(st.booleans()),
        estimated=draw(st.booleans()),
        source=draw(texts),
        today=draw(st.none() | tokens),
    )


@st.composite
def packages(draw: st.DrawFn) -> Package:
    total, effective = draw(tokens), draw(instants)
    expires = draw(st.integers(effective, LATEST - 1))
    return Package(
        id=draw(names), total=total, available=draw(st.integers(0, total)), effective=effective, expires=expires
    )


@st.composite
def readings(draw: st.DrawFn) -> Reading:
    at = draw(instants)
    before = st.none() | st.integers(EARLIEST, at)
    return Reading(
        id=draw(names),
        at=at,
        model=draw(names),
        available=draw(tokens),
        asked_at=draw(before),
        source=draw(texts),
        settled_until=draw(before),
        packages=draw(st.none() | st.lists(packages(), max_size=3).map(tuple)),
    )


calibrations = st.builds(
    Calibration,
    **ids,
    day=st.dates().map(str).filter(lambda day: "2000" <= day < "2100"),
    pool=tokens,
    force=st.booleans(),
    by=texts,
)
controls = st.builds(
    Control,
    id=names,
    at=instants,
    by=names,
    why=st.text(min_size=1).filter(str.strip),
    action=st.sampled_from(ControlAction),
    scope=st.sampled_from(["global", "model:m", "tenant:acme", "user:acme/u1", "ip:10.0.0.0/8", "ip:::1"]),
    tokens=tokens,
    until=st.none() | instants,
)
refusals = st.builds(Refusal, **ids, usage=tokens, reserve=tokens, limit=tokens)
records = st.one_of(usages(), readings(), calibrations, controls, refusals, st.builds(Clock, at=instants))


@given(records)
def test_a_record_comes_back_as_it_was_sent(intake: Intake, record: Record) -> None:
    """read(encode(record)) is the record, times to the millisecond."""
    assert intake.read(encode(record)) == record


@given(records)
def test_a_record_is_one_line(record: Record) -> None:
    """What is sent is one JSON object with our `type`, without a line break."""
    raw = encode(record)
    assert b"\n" not in raw
    assert msgspec.json.decode(raw)["type"] == type(record).__struct_config__.tag
