"""`blastdoor test-rules FILE`: rules over facts as time goes by, against what they are to say."""

from __future__ import annotations

from pathlib import Path

import click

from rules.documented import SCOPE_FACTS
from rules.fault import Fault
from rules.moment import SECOND
from rules.policy import Policy
from rules.policy_check.rule_cases import CaseFile, check_cases
from rules.policy_check.values import brief
from rules.rule_case import Case, Missed, run
from streams.policy_file import PolicyError, default_rulebook, load_policy, load_references
from streams.policy_text import LARGEST, read_document

SHOWN = 8  # facts in the report of a failure


@click.command(
    epilog="""\b
Exit code: 0 all tests pass, 1 one does not, 2 a file holds a mistake. docs/policy.md says what a file looks like.

\b
Example:
  blastdoor test-rules rules.test.yaml"""
)
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
@click.pass_context
def command(ctx: click.Context, files: tuple[Path, ...]) -> None:
    """Test rules: each FILE names a policy and tells facts over time with the verdicts they are to bring."""
    failed = 0
    for file in files:
        try:
            found = _read(file)
            policy = _policy(file, found)
        except PolicyError as error:
            mistake = click.ClickException(str(error))
            mistake.exit_code = 2
            raise mistake from error
        failed += _test(file, found.cases, policy)
    ctx.exit(1 if failed else 0)


def _read(path: Path) -> CaseFile:
    try:
        with path.open("rb") as opened:
            document = read_document(opened.read(LARGEST + 1))
    except OSError as error:
        raise PolicyError(str(path), [Fault(0, "", f"cannot be read: {error.strerror}")]) from error
    if isinstance(document, Fault):
        raise PolicyError(str(path), [document])
    found = check_cases(document.raw, document.lines)
    if document.faults or isinstance(found, list):
        raise PolicyError(str(path), [*document.faults, *(found if isinstance(found, list) else [])])
    return found


def _policy(path: Path, found: CaseFile) -> Policy:
    return load_references(path.parent / found.policy) if found.policy else load_policy(None)


def _test(file: Path, cases: tuple[Case, ...], policy: Policy) -> int:
    rulebook, failed = default_rulebook(policy), 0
    for case in cases:
        missed = run(case, rulebook, SCOPE_FACTS[case.scope])
        failed += bool(missed)
        for each in missed:
            _report(file, case, each)
    looks = sum(len(case.looks) for case in cases)
    outcome = f"{failed} of {len(cases)} tests failed" if failed else f"{len(cases)} tests, {looks} looks: ok"
    click.echo(f"{file}: {outcome}")
    return failed


def _report(file: Path, case: Case, missed: Missed) -> None:
    place = f":{missed.look.line}" if missed.look.line else ""
    at = brief(missed.look.at // SECOND * SECOND)
    click.echo(f"{file}{place}: {case.name}, after {at}:")
    for field, wanted, got in missed.differences:
        click.echo(f"  {field:<7} wanted {wanted or 'nothing'}, got {got or 'nothing'}")
    click.echo(f"  because {missed.reason}")
    named = {name: value for name, value in missed.facts.items() if name in {*case.facts, *missed.look.facts, "share"}}
    told = ", ".join(f"{name}={value}" for name, value in list(named.items())[:SHOWN])
    click.echo(f"  facts   {told or 'as nothing is known'}")
