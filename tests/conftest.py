"""Shared by all tiers: a test without a tier's marker is a mistake."""

from __future__ import annotations

import os
import time
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import settings

import checkers
from checkers.engine.choice import ENGINE_VARIABLE
from tests.support import durations, file_costs, machine_state
from tests.support.paths import ROOT

# No test measures time: a busy machine must not fail one.
settings.register_profile("kafka-chaos", deadline=None)
settings.load_profile("kafka-chaos")

# Runs that tests make are checked by Sail, whose start costs no JVM. A test of Apache Spark asks for it by
# `--engine` or an `EngineChoice`; a test of the defaults removes the variable. Commands that tests start have
# it too.
os.environ.setdefault(ENGINE_VARIABLE, "sail")

if ROOT not in Path(checkers.__file__).resolve().parents:
    # As where one virtual environment serves two checkouts: PYTHONPATH says which is meant.
    pytest.exit(f"the packages under test are not those of {ROOT}, but {checkers.__file__}", returncode=2)

TIERS = ("pure", "spark", "mock", "chaos")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        found = [tier for tier in TIERS if item.get_closest_marker(tier)]
        if len(found) != 1:
            raise pytest.UsageError(f"{item.nodeid} must carry exactly one of the markers {TIERS}: {found}")
        if not item.nodeid.startswith(f"tests/{found[0]}/"):
            raise pytest.UsageError(
                f"{item.nodeid} is of the tier {found[0]}, so it belongs into tests/{found[0]}/"
            )
    if "PYTEST_XDIST_WORKER" in os.environ:
        # Side by side, a long file that comes last would be waited for.
        files = durations.by_file(durations.measured())
        items.sort(key=lambda item: -files.get(item.nodeid.partition("::")[0], 0.0))


_BEGAN = pytest.StashKey[tuple[float, machine_state.Reading | None]]()


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("chaos"):
        item.stash[_BEGAN] = (time.monotonic(), machine_state.reading())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failure with real brokers says what the machine did meanwhile."""
    report = yield
    if report.failed and item.get_closest_marker("chaos"):
        began, before = item.stash[_BEGAN]
        told = machine_state.told(before, machine_state.reading(), time.monotonic() - began)
        report.sections.append(("the machine during this test", told))
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = (report for several in terminalreporter.stats.values() for report in several)
    rows = file_costs.lines(report for report in reports if isinstance(report, pytest.TestReport))
    if rows:
        terminalreporter.section("what the files of tests cost")
        terminalreporter.write_line("\n".join(rows))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--fault-table", metavar="FILE", help="write what the tests proved of each fault as JSON"
    )
    parser.addoption("--fault", metavar="NAME", help="prove only this fault, and keep the table's other rows")
    parser.addoption(
        "--kills", metavar="N", default="3", help="how often the harness is killed at any moment"
    )
    parser.addoption(
        "--soak-minutes", metavar="N", default="6", help="how long the standard faults are repeated"
    )
    parser.addoption("--findings", metavar="FOLDER", help="keep the runs that show findings, for their page")
