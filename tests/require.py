"""The parts tests need: what is missing is skipped by name, or fails where it was said that it must be here.

A test names its parts by markers (`@pytest.mark.kafka`). `BLASTDOOR_REQUIRE=kafka,redis7` makes the absence of these a
failure; `BLASTDOOR_REQUIRE=all` that of every part, and then the run fails if anything was skipped for whatever reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

    Parts = Mapping[str, Callable[[], str | None]]

UNHURT = {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED}


class Requirements:
    """A pytest plugin. `required` is the text of BLASTDOOR_REQUIRE; a part answers with what is missing, or None."""

    def __init__(self, required: str, parts: Parts) -> None:
        """Raises UsageError for a part nobody knows: a misspelt one would require nothing."""
        self.parts = parts
        self.required = frozenset(required.replace(",", " ").split())
        self.all = "all" in self.required
        self.skipped: list[str] = []
        if unknown := self.required - parts.keys() - {"all"}:
            msg = f"BLASTDOOR_REQUIRE names unknown parts: {', '.join(sorted(unknown))}; known: all, {', '.join(parts)}"
            raise pytest.UsageError(msg)

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        for part in dict.fromkeys(marker.name for marker in item.iter_markers() if marker.name in self.parts):
            if (missing := self.parts[part]()) is not None:
                reason = f"part {part}: {missing}"
                if self.all or part in self.required:
                    pytest.fail(f"{reason} (BLASTDOOR_REQUIRE says it must be here)", pytrace=False)
                pytest.skip(reason)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if report.skipped and not hasattr(report, "wasxfail"):
            self.skipped.append(report.nodeid)
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        report = yield
        if report.skipped:
            self.skipped.append(report.nodeid)
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.all and self.skipped and session.exitstatus in UNHURT:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.all and self.skipped:
            terminalreporter.section("skipped, though BLASTDOOR_REQUIRE=all: the run has failed", red=True, bold=True)
            for nodeid in self.skipped:
                terminalreporter.line(nodeid)
