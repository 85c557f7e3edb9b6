"""Users and addresses: banned and closed by order, told to gates as a kill, and spelt as gates look them up."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from rules.calendar import Calendar
from rules.facts import Heard, Watermark
from rules.judge import Judge
from rules.moment import DAY, HOUR, Millis
from rules.policy import Policy, RuleSpec
from rules.records import Control, ControlAction, Rejected
from rules.ruling import Ruling
from rules.switch import addressed
from streams.policy_file import default_rulebook

T0 = Calendar().start("2026-08-13")
NOON = T0 + 12 * HOUR
USER, IP = "user:acme/u1", "ip:203.0.113.7"


def control(action: str, scope: str = USER, at: Millis = NOON, until: Millis | None = None, name: str = "") -> Control:
    kind = ControlAction(action)
    return Control(
        id=name or f"{action}{at}", at=at, action=kind, scope=scope, by="ann", why="a leaked key", until=until
    )


def judge(*controls: Control, policy: Policy | None = None, rows: dict[str, Any] | None = None) -> Judge:
    found = Judge(policy or Policy(), default_rulebook(policy or Policy()), usage_partitions=1)
    found.restore(msgspec.json.decode(msgspec.json.encode(rows or {})))
    for number, each in enumerate(controls):
        found.apply(Heard(each.scope, each, f"controls/0/{number}"))
    return found


def ruling(judging: Judge, scope: str = USER, now: Millis = NOON) -> Ruling:
    judging.attend(scope)
    judging.rule(now)
    found = judging.ruling(scope)
    assert found is not None
    return found


@pytest.mark.parametrize("scope", [USER, IP])
def test_a_ban_is_told_as_a_kill(scope: str) -> None:
    """Gates know it by that; who banned and why stands in the reason."""
    found = ruling(judge(control("ban", scope)), scope)
    assert (found.action, found.until) == ("kill", None)
    assert found.reason == "banned by ann: a leaked key"
    assert [asked.severity for asked in found.asked] == ["warning"]


def test_a_ban_ends_as_it_says() -> None:
    """Its end travels with it, and time alone lifts it."""
    judging = judge(control("ban", until=NOON + HOUR))
    assert ruling(judging).until == NOON + HOUR
    (outcome,) = judging.rule(NOON + HOUR, every=True)
    assert (outcome.ruling.action, outcome.history) == ("allow", True)


def test_unban_lifts_a_ban_and_resume_a_kill() -> None:
    """One does not undo the other."""
    both = (control("ban"), control("kill"))
    assert ruling(judge(*both, control("unban", at=NOON + 1))).rule == "user-killed"
    assert ruling(judge(*both, control("resume", at=NOON + 1))).rule == "user-banned"
    assert ruling(judge(*both, control("unban", at=NOON + 1), control("resume", at=NOON + 1))).action == "allow"


def test_of_two_orders_the_longer_one_is_told() -> None:
    """A kill without an end is not ended by the ban beside it."""
    assert ruling(judge(control("ban", until=NOON + HOUR), control("kill"))).until is None


def test_orders_survive_a_restart() -> None:
    """The row keeps them, and which ids were taken."""
    before = judge(control("ban", name="b"))
    ruling(before)
    after = judge(control("unban", at=NOON + 1, name="b"), rows=before.take_rows())
    assert ruling(after, now=NOON + DAY).action == "kill"


def test_nothing_is_looked_at_without_need() -> None:
    """Ten thousand banned addresses cost nothing while the day goes on."""
    judging = judge(control("ban"))
    ruling(judging)
    assert judging.rule(NOON + HOUR, every=True) == []


def test_rules_of_ones_own_may_ban() -> None:
    """What a rule decides ends with the day, in case nobody rules again."""
    own = RuleSpec(name="trial", scope="user", when='tenant == "acme"', action="ban", says="{user} is on trial")
    found = ruling(judge(control("unban"), policy=Policy(rules=(own,))))
    assert (found.action, found.rule, found.until) == ("kill", "trial", T0 + DAY)


@pytest.mark.parametrize(
    ("given", "scope"),
    [
        ("ip:203.0.113.7", "ip:203.0.113.7"),
        ("ip:203.0.113.7/32", "ip:203.0.113.7"),
        ("ip:203.0.113.7/24", "ip:203.0.113.0/24"),
        ("ip:::ffff:203.0.113.7", "ip:203.0.113.7"),
        ("ip:2001:DB8::1", "ip:2001:db8::1"),
        ("ip:2001:db8:1:2::5/64", "ip:2001:db8:1:2::/64"),
        ("ip:2001:db8:1::/48", "ip:2001:db8:1::/48"),
        ("user:acme/u1", "user:acme/u1"),
    ],
)
def test_addresses_are_spelt_as_gates_look_them_up(given: str, scope: str) -> None:
    """One spelling for each, or a ban would bind nobody."""
    assert addressed(control("ban", given)) == scope


@pytest.mark.parametrize(
    ("action", "scope"),
    [
        ("ban", "global"),
        ("ban", "tenant:t"),
        ("ban", "model:m"),
        ("kill", "model:m"),
        ("ban", "ip:10.0.0.0/8"),
        ("unban", "ip:fe80::/10"),
        ("topup", "user:acme/u1"),
        ("topup", "global"),
        ("set_quota", "model:m"),
        ("forget", "tenant:acme"),
    ],
)
def test_an_order_that_nobody_would_heed_is_refused(action: str, scope: str) -> None:
    """It becomes a dead letter that says what can be ordered instead."""
    assert isinstance(addressed(control(action, scope)), Rejected)


def test_what_was_lifted_long_ago_is_forgotten() -> None:
    """When gates have forgotten it, too; what is in force is kept for ever."""
    lifted, banned = judge(control("ban"), control("unban", at=NOON + 1)), judge(control("ban"))
    for judging in (lifted, banned):
        ruling(judging)
        judging.apply(Watermark("usage", 0, 0, 1, NOON + 9 * DAY, NOON))
        judging.rule(NOON + 2 * DAY, every=True)
        assert USER in judging.books
        judging.rule(NOON + 5 * DAY, every=True)
    assert (USER in lifted.books, USER in banned.books) == (False, True)
    assert lifted.take_closed() == [USER]


BANNING = RuleSpec(
    name="killed-too-often", scope="user", when="killed", action="ban", says="{user} was closed", ban_for=2 * HOUR
)


def test_a_ban_that_a_rule_laid_lasts_and_ends_by_itself() -> None:
    """A kill of a minute brings a ban of two hours: it outlives the order and a restart, the decision says until when,
    and time alone lifts it, at the very instant."""
    policy = Policy(rules=(BANNING,))
    judging = judge(control("kill", until=NOON + 1), policy=policy)
    assert ruling(judging).rule == "user-killed"
    later = judge(policy=policy, rows=judging.take_rows())
    banned = ruling(later, now=NOON + HOUR)
    assert (banned.action, banned.rule, banned.until) == ("kill", "killed-too-often", NOON + 2 * HOUR)
    assert later.rule(NOON + 2 * HOUR - 1, every=True) == []
    (outcome,) = later.rule(NOON + 2 * HOUR, every=True)
    assert outcome.ruling.action == "allow"


def test_an_unban_lifts_a_ban_that_a_rule_laid() -> None:
    """An operator's word ends it at once."""
    judging = judge(control("kill", until=NOON + 1), policy=Policy(rules=(BANNING,)))
    assert ruling(judging).action == "kill"
    judging.apply(Heard(USER, control("unban", at=NOON + 2), "controls/0/7"))
    assert ruling(judging, now=NOON + 3).action == "allow"
