"""What the files of tests cost, as the end of a long run says."""

from __future__ import annotations

import pytest

from tests.support.file_costs import lines

pytestmark = pytest.mark.pure


def report(file: str, when: str, seconds: float) -> pytest.TestReport:
    return pytest.TestReport(
        nodeid=f"{file}::test_it",
        location=(file, 1, "test_it"),
        keywords={},
        outcome="passed",
        longrepr=None,
        when=when,  # type: ignore[arg-type]
        duration=seconds,
    )


def test_the_dearest_file_is_first_and_its_boot_is_named() -> None:
    reports = [
        report("tests/a.py", "call", 5),
        report("tests/b.py", "setup", 40),
        report("tests/b.py", "setup", 1),
        report("tests/b.py", "call", 20),
        report("tests/b.py", "teardown", 2),
    ]
    head, first, second, total = lines(reports)
    assert head.split() == ["seconds", "set-up", "longest", "tests", "file"]
    assert first.split() == ["63", "41", "40", "1", "tests/b.py"]
    assert second.split() == ["5", "0", "0", "1", "tests/a.py"]
    assert total.split()[:2] == ["68", "41"]


def test_nothing_is_said_of_a_short_run() -> None:
    assert lines([report("tests/a.py", "call", 59)]) == []
