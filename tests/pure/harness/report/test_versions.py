"""The tables of a run that changed versions: which ran in which write step, and what became of records."""

from __future__ import annotations

import pytest

from harness.model.finding_class import FindingClass
from harness.model.result import ArmResult, CountRow
from harness.model.run import StepInfo, VersionChange
from harness.report.page.blocks import text_of
from harness.report.versions import by_version, changes
from tests.support.builders.results import SECOND, START, meta
from tests.support.builders.results import arm as arm_result
from tests.support.builders.summaries import summary_with

pytestmark = pytest.mark.pure

NODES = ("controller-101", "broker-1", "broker-2", "broker-3")


def at(second: float, what: str, before: str, after: str) -> VersionChange:
    return VersionChange(at_ns=START + int(second * SECOND), what=what, before=before, after=after)


def upgraded(done: tuple[VersionChange, ...]) -> ArmResult:
    spans = (("before", 0, 2), ("up", 2, 10), ("finalized", 10, 12))
    steps = tuple(
        StepInfo(index=n, name=name, kind="write", started_ns=START + a * SECOND, ended_ns=START + b * SECOND)
        for n, (name, a, b) in enumerate(spans)
    )
    base = meta()
    image = base.cluster.image.model_copy(update={"kafka_version": "3.9.2"})
    cluster = base.cluster.model_copy(update={"image": image, "changes": done})
    expired = CountRow(finding=FindingClass.EXPIRED, producer=0, partition=0, step=0, windows="", count=3)
    return arm_result("acks=1").model_copy(
        update={
            "meta": base.model_copy(update={"cluster": cluster, "steps": steps}),
            "summary": summary_with(
                acked_by_step={"before": 10, "up": 2000, "finalized": 20},
                lost_by_step={"up": 7},
                counts=(expired,),
            ),
        }
    )


ALL = (
    *(at(3 + n, node, "3.9.2", "4.1.1") for n, node in enumerate(NODES)),
    at(11, "metadata.version", "21", "27"),
    at(11, "group.version", "0", "1"),
)


def rows(result: ArmResult) -> list[tuple[str, ...]]:
    return [tuple(map(text_of, row)) for row in by_version(result).rows]


def test_a_row_per_write_step() -> None:
    table = by_version(upgraded(ALL))
    assert table.columns == ["write step", "Kafka", "metadata.version", "acked", "present", "lost"]
    assert rows(upgraded(ALL)) == [
        ("before", "3.9.2", "3.9-IV0", "10", "7", "0"),
        ("up", "3.9.2 -> 4.1.1", "3.9-IV0", "2,000", "1,993", "7"),
        ("finalized", "4.1.1", "3.9-IV0 -> 4.1-IV1", "20", "20", "0"),
    ]


def test_nodes_of_two_versions() -> None:
    found = rows(upgraded(ALL[:2]))
    assert [row[1] for row in found] == ["3.9.2", "3.9.2 -> 3.9.2 and 4.1.1", "3.9.2 and 4.1.1"]
    assert "metadata.version" not in by_version(upgraded(ALL[:2])).columns


def test_a_run_that_changed_nothing_has_no_such_table() -> None:
    assert not by_version(upgraded(())).rows
    assert not by_version(upgraded(ALL).model_copy(update={"summary": None})).rows
    assert not changes(upgraded(()).meta).rows


def test_when_it_changed() -> None:
    found = [tuple(map(text_of, row)) for row in changes(upgraded(ALL).meta).rows]
    assert found[0] == ("3.00 s", "controller-101", "3.9.2", "4.1.1")
    assert found[-2:] == [
        ("11.00 s", "metadata.version", "3.9-IV0", "4.1-IV1"),
        ("11.00 s", "group.version", "0", "1"),
    ]
