"""Applications whose input is a file or an HTTP endpoint, killed beside real brokers: careful ones keep their
promise, and controls with a planted mistake do not."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from harness.cluster.managed import ManagedCluster
from harness.model.finding_class import FindingClass
from harness.model.result import ArmResult, VerdictWord
from tests.chaos.support.applications import left_of_applications, run_application, verified_faults
from tests.support.paths import ROOT

pytestmark = [pytest.mark.chaos, pytest.mark.soak]

PROGRAM = ROOT / "tests" / "support" / "source_application.py"
FILE, HTTP = {"file": "app.log"}, {"http": "http://{host}:{port}/ingest"}


def _killed(
    cluster: ManagedCluster, results: Path, source: dict[str, str], style: str, **more: Any
) -> ArmResult:
    arguments = [next(iter(source)), style, "{bootstrap}", "{output}", "{input}", "{state}"]
    faults = [
        {"fault": {"kill": {"target": {"application": 0}}}, "at": 2, "for": 2},
        {"fault": {"kill": {"target": {"leader": 0}}}, "at": 6, "for": 3},
    ]
    arm = run_application(
        cluster,
        results,
        {"run": {"process": [sys.executable, str(PROGRAM), *arguments]}, "input": source, **more},
        [{"write": {"name": "input", "seconds": 12, "rate": 100, "faults": faults}}],
        workload={"payload": {"json": {"id": "$identity", "n": "$seq"}}},
    )
    assert verified_faults(arm) == {"kill-1": True, "kill-2": True}
    assert arm.meta.application is not None
    assert arm.meta.application.drained, arm.judgement.reasons
    assert left_of_applications(cluster) == []
    return arm


@pytest.mark.parametrize("source", [FILE, HTTP], ids=["file", "http"])
@pytest.mark.parametrize("style", ["careful", "forgetful"])
def test_a_source_is_judged_as_an_application_that_reads_a_topic(
    cluster: ManagedCluster, tmp_path: Path, source: dict[str, str], style: str
) -> None:
    more = {"identity": {"json": "$.log"}} if source is FILE else {}
    arm = _killed(cluster, tmp_path, source, style, **more)
    summary = arm.summary
    assert summary is not None
    # A file is written whatever happens; an endpoint is away while it is killed.
    assert summary.inputs is not None
    assert summary.inputs >= (1100 if source is FILE else 300)
    lost = summary.count(FindingClass.UNPROCESSED)
    assert bool(lost) is (style == "forgetful")
    assert arm.judgement.verdict is (VerdictWord.INVALID if lost else VerdictWord.VALID), (
        arm.judgement.reasons
    )
    assert summary.count(FindingClass.INVENTED) == summary.count(FindingClass.PREMATURE) == 0
