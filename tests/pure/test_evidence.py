"""Evidence of one fault: which tests are run, and what becomes of the evidence of the others."""

from __future__ import annotations

import pytest

from harness.model.errors import BadInput
from tests.chaos.support.evidence import merged
from tests.support.fault_tests import files_of
from tests.support.makefile import make

pytestmark = pytest.mark.pure


def test_the_tests_of_a_fault_are_those_that_name_it() -> None:
    assert files_of("disk_full") == ["tests/chaos/faults/test_disk_full.py"]
    assert "tests/chaos/faults/test_process_faults.py" in files_of("kill")


def test_an_unknown_fault_is_refused_before_anything_starts() -> None:
    with pytest.raises(BadInput, match="did you mean 'kill'"):
        files_of("kil")
    refused = make("-n", "evidence", "FAULT=kill")
    assert "--fault kill" in refused.stdout
    assert "--fault " not in make("-n", "evidence").stdout


def test_rows_of_other_faults_are_kept() -> None:
    kill, stop, again = (
        {"kind": kind, "what": what} for kind, what in (("kill", 1), ("stop", 2), ("kill", 3))
    )
    saved = {"machine": "a", "rows": [kill, stop], "impossible": [{"kind": "pause", "reason": "r"}]}
    assert merged(saved, "kill", [again], "a") == saved | {"rows": [again, stop]}
    assert merged(saved, "stop", [stop, stop], "b")["rows"] == [kill, *[stop | {"machine": "b"}] * 2]
    found = merged(saved, "pause", [{"kind": "pause"}], "a")
    assert (found["rows"], found["impossible"]) == ([kill, stop, {"kind": "pause"}], [])
