"""Loads the policy file: bytes, checked document, secrets, built-in rules. All its mistakes come in one PolicyError."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TypeVar

from msgspec.structs import replace

from rules.documented import SCOPE_FACTS
from rules.fault import Fault
from rules.policy import Channel, Policy, Provider, RuleSpec, Sender, Viewer
from rules.policy_check import check, check_rules
from rules.rulebook import Rulebook, override
from streams.policy_text import LARGEST, Document, read_document
from streams.secrets import Secrets, UnreadableError, Vault
from streams.settings import environment as own_environment

Entry = TypeVar("Entry", Channel, Sender, Viewer)


class PolicyError(Exception):
    """A file that the operator has to repair: every mistake with its place, in the order of the file."""

    def __init__(self, source: str, faults: list[Fault]) -> None:
        self.source = source
        self.faults = sorted(faults)
        super().__init__(
            "\n".join(
                f"{source}:{fault.line}: {fault}" if fault.line else f"{source}: {fault}" for fault in self.faults
            )
        )


def load_policy(path: str | Path | None, environment: Mapping[str, str] | None = None) -> Policy:
    """The policy of a file, secrets and built-in rules in place; without a file the defaults. Raises PolicyError.

    `environment` is where `env:` references are looked up: by default the process's own.
    """
    if path is None:
        return Policy(rules=default_rules())
    document = _read(Path(path), str(path))
    vault = Vault(own_environment() if environment is None else environment, Path(path).parent)
    secrets, missing = vault.secrets(document.raw, document.lines)
    return with_secrets(_checked(document, str(path), missing), secrets)


def load_references(path: str | Path) -> Policy:
    """The same, but secrets stay references: for checking a file on a machine that does not know them."""
    return _checked(_read(Path(path), str(path)), str(path), [])


def credentials(path: str | Path, provider: Provider, environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """The secrets behind a provider's references, by field; only who asks it needs them. Raises PolicyError."""
    vault = Vault(own_environment() if environment is None else environment, Path(path).parent)
    found, faults = {}, []
    for field in ("access_key", "secret_key", "token", "url"):
        if reference := getattr(provider, field):
            try:
                # What is asked of a token of our own is not asked of a provider's.
                found[field] = vault.look_up("secret" if field == "token" else field, reference)
            except UnreadableError as unreadable:
                faults.append(Fault(0, f"providers.{provider.name}.{field}", str(unreadable)))
    if faults:
        raise PolicyError(str(path), faults)
    return found


def default_rulebook(policy: Policy) -> Rulebook:
    """The compiled rules of a policy, and the built-in ones where it has none of that name. Raises PolicyError."""
    found = Rulebook.compile(override(default_rules(), policy.rules), SCOPE_FACTS, policy.alerts.language)
    if isinstance(found, list):
        raise PolicyError("rules", found)
    return found


@cache
def default_rules() -> tuple[RuleSpec, ...]:
    """The built-in behaviour, from `rules/default.yaml`."""
    source = "rules/default.yaml"
    document = read_document(files("rules").joinpath("default.yaml").read_bytes())
    if isinstance(document, Fault):
        raise PolicyError(source, [document])
    found = check_rules(document.raw, document.lines)
    if isinstance(found, list) or document.faults:
        raise PolicyError(source, [*document.faults, *(found if isinstance(found, list) else [])])
    return found


def with_secrets(policy: Policy, secrets: Secrets) -> Policy:
    """The policy with the secrets of its channels, senders and viewers in place of the references."""
    return replace(
        policy,
        channels=_filled("channels", policy.channels, secrets),
        senders=_filled("senders", policy.senders, secrets),
        viewers=_filled("viewers", policy.viewers, secrets),
    )


def _filled(section: str, entries: Mapping[str, Entry], secrets: Secrets) -> dict[str, Entry]:
    def own(name: str) -> dict[str, str]:
        return {field: secret for (of, owner, field), secret in secrets.items() if (of, owner) == (section, name)}

    return {name: replace(entry, **own(name)) for name, entry in entries.items()}


def _read(path: Path, source: str) -> Document:
    try:
        with path.open("rb") as file:
            document = read_document(file.read(LARGEST + 1))
    except OSError as error:
        raise PolicyError(source, [Fault(0, "", f"cannot be read: {error.strerror}")]) from error
    if isinstance(document, Fault):
        raise PolicyError(source, [document])
    return document


def _checked(document: Document, source: str, missing: list[Fault]) -> Policy:
    """The policy with references for secrets and the built-in rules under its own; the hash covers both."""
    found = check(document.raw, document.lines)
    faults = [*document.faults, *missing, *(found if isinstance(found, list) else [])]
    if faults or isinstance(found, list):
        raise PolicyError(source, faults)
    return replace(found, rules=override(default_rules(), found.rules)).hashed()
