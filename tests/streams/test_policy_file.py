"""Loading a policy: file, secrets, built-in rules, and the hash that names what decided."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest

from rules.moment import MINUTE
from rules.policy import Policy, Rate, RuleSpec
from streams.policy_file import PolicyError, default_rulebook, default_rules, load_policy, load_references

Write = Callable[[str], Path]

EXAMPLE = """\
timezone: Asia/Shanghai
day_starts: "00:00"
mode: enforce
models:
  default: {daily_cap: 2_000_000, small_buffer: 10_000, formula: interval, max_lag: 30m, unknown: close}
aliases: {volcengine/deepseek-v4-flash-ga-260731: deepseek-v4-flash}
tenants:
  default: {daily_tokens: 500_000, monthly_tokens: 10_000_000, over: degrade}
spend: {daily: 500, currency: CNY, basis: charged}
prices: {deepseek-v4-flash: {input: 1, cached_input: 0.2, output: 2}}
limits: {per_ip: 10/min, per_user: 10/min}
alerts: {thresholds: [0.8, 1.0], send: [feishu-main], language: zh}
channels: {feishu-main: {kind: feishu, url: env:FEISHU_URL, secret: env:FEISHU_SECRET}}
rules: []
"""
ENVIRONMENT = {"FEISHU_URL": "https://open.feishu.cn/hook/token-of-the-hook", "FEISHU_SECRET": "signing-key"}


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(text: str) -> Path:
        path = tmp_path / "policy.yaml"
        path.write_text(text)
        return path

    return write


def test_the_example_of_the_design_loads(write: Write) -> None:
    """Every section is understood, with its exact numbers and the secrets in place."""
    policy = load_policy(write(EXAMPLE), ENVIRONMENT)
    assert policy.default.daily_cap == 2_000_000
    assert policy.canonical("volcengine/deepseek-v4-flash-ga-260731") == "deepseek-v4-flash"
    assert policy.prices["deepseek-v4-flash"][0].cached_input == Decimal("0.2")
    assert policy.limits["per_ip"] == Rate(calls=10, per=MINUTE)
    assert policy.tenant_default.monthly_tokens == 10_000_000
    assert policy.channels["feishu-main"].secret == "signing-key"
    assert policy.left_to_gates() == ("limits.per_ip", "limits.per_user")


def test_no_file_means_the_defaults_with_the_built_in_rules() -> None:
    """Without a policy everything has a default, and the hash says that there was no file."""
    policy = load_policy(None)
    assert policy == Policy(rules=default_rules())
    assert policy.hash == "defaults"


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "models:\nrules:\nchannels:\nalerts:\n", "{}"])
def test_an_empty_file_says_nothing(write: Write, text: str) -> None:
    """Nothing written, or sections without content, leave all defaults; only the hash tells of the file."""
    policy = load_policy(write(text), {})
    assert policy == Policy(rules=default_rules(), hash=policy.hash)


def test_neither_policy_nor_error_shows_a_secret(write: Write) -> None:
    """Printing the policy, as a log or a traceback would, shows no resolved secret."""
    policy = load_policy(write(EXAMPLE), ENVIRONMENT)
    assert "token-of-the-hook" not in repr(policy)
    assert "signing-key" not in repr(policy)


def test_the_hash_follows_the_content_only(write: Write) -> None:
    """Comments, order, spelling of a length and the secrets themselves do not change the hash; a number does."""
    before = load_policy(write(EXAMPLE), ENVIRONMENT).hash
    respelt = EXAMPLE.replace("30m", "1800s").replace("mode: enforce\n", "") + "# moved\nmode: enforce\n"
    assert load_policy(write(respelt), ENVIRONMENT | {"FEISHU_SECRET": "another"}).hash == before
    assert load_policy(write(EXAMPLE.replace("10_000,", "10_001,")), ENVIRONMENT).hash != before
    assert len(before) == 12


def test_a_rule_of_the_same_name_replaces_the_built_in(write: Write) -> None:
    """One's own rules come after the built-in ones; the same name takes the built-in's place."""
    mine = "{scope: model, when: share > 2.0, then: {action: warn}, says: mine}"
    policy = load_policy(
        write(f"rules:\n- {mine[:1]}name: model-near-limit, {mine[1:]}\n- {mine[:1]}name: extra, {mine[1:]}"), {}
    )
    names = [rule.name for rule in policy.rules]
    assert names == [*(rule.name for rule in default_rules()), "extra"]
    assert policy.rules[names.index("model-near-limit")].says == "mine"


def test_a_policy_becomes_a_rulebook(write: Write) -> None:
    """A loaded policy and one made in code both decide by the built-in rules and their own."""
    names = [rule.spec.name for rules in default_rulebook(Policy()).rules.values() for rule in rules]
    assert sorted(names) == sorted(rule.name for rule in default_rules())
    loaded = load_policy(write("rules:\n- {name: extra, scope: model, when: stale, then: {action: kill}, says: x}"), {})
    assert default_rulebook(loaded).rules["model"][0].spec.name == "extra"


def test_a_wrong_rule_made_in_code_is_a_policy_error() -> None:
    """Also rules that came past the check of a file are checked before they decide."""
    rule = RuleSpec(name="a", scope="model", when="usd > 1", action="block", says="x")
    with pytest.raises(PolicyError, match=r"rules\[\d+\]\.when: there is no fact 'usd'"):
        default_rulebook(Policy(rules=(rule,)))


def test_secrets_from_files_are_found_beside_the_policy(write: Write, tmp_path: Path) -> None:
    """`file:` paths count from the folder of the policy file; the line break at the end is no part of the secret."""
    (tmp_path / "hook").write_text("https://hooks.example/T0/abc\n")
    policy = load_policy(write("channels: {main: {kind: webhook, url: file:hook}}"), {})
    assert policy.channels["main"].url == "https://hooks.example/T0/abc"


@pytest.mark.parametrize("kind", ["webhook", "feishu"])
@pytest.mark.parametrize("url", ["http://127.0.0.1:8080/hook", "http://localhost/x", "http://[::1]:9/x"])
def test_a_receiver_on_this_machine_may_be_written_out(write: Write, kind: str, url: str) -> None:
    """The address of a local receiver gives nothing away, so a demo needs no environment."""
    assert load_policy(write(f'channels: {{main: {{kind: {kind}, url: "{url}"}}}}'), {}).channels["main"].url == url


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1.evil.example/x",
        "http://user:pw@localhost/x",
        "http://127.0.0.1/x?key=1",
        "https://a.example",
        "http://[",
        "",
    ],
)
def test_any_other_literal_address_is_refused(write: Write, url: str) -> None:
    """A URL may carry a token: it belongs into the environment or a file."""
    with pytest.raises(PolicyError, match="write env:NAME or file:PATH"):
        load_policy(write(f'channels: {{main: {{kind: webhook, url: "{url}"}}}}'), {})


def test_references_need_no_secrets(write: Write) -> None:
    """A file can be checked where its secrets are not known, and gets the same hash."""
    policy = load_references(write(EXAMPLE))
    assert policy.channels["feishu-main"].url == "env:FEISHU_URL"
    assert policy.hash == load_policy(write(EXAMPLE), ENVIRONMENT).hash


def test_the_own_environment_is_the_default(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an environment given, `env:` means that of the process."""
    monkeypatch.setenv("SOME_HOOK", "https://hooks.example/T0/abc")
    policy = load_policy(write("channels: {main: {kind: webhook, url: env:SOME_HOOK}}"))
    assert policy.channels["main"].url == "https://hooks.example/T0/abc"


def test_a_file_that_cannot_be_read_is_a_policy_error(tmp_path: Path) -> None:
    """A missing file and a folder are told like any other mistake."""
    with pytest.raises(PolicyError, match=r"nowhere\.yaml: cannot be read: No such file"):
        load_policy(tmp_path / "nowhere.yaml", {})
    with pytest.raises(PolicyError, match="cannot be read"):
        load_policy(tmp_path, {})


@pytest.mark.parametrize("token", ["", "short-token-012"])
def test_a_token_that_can_be_guessed_is_refused(tmp_path: Path, token: str) -> None:
    """A token of a sender has 16 characters at least; it is not repeated."""
    path = tmp_path / "policy.yaml"
    path.write_text("senders: {a: {token: env:T}}")
    with pytest.raises(PolicyError) as found:
        load_policy(path, {"T": token})
    assert str(found.value).startswith(f"{path}:1: senders.a.token: ")
    assert not token or token not in str(found.value)
    assert load_policy(path, {"T": "long-enough-01234"}).senders["a"].token == "long-enough-01234"
