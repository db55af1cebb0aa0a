"""An application as it runs: ready, watched, drained, flooding; its instances and its group are made up."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any, cast

import pytest

from harness.cluster.cluster_with_application import ClusterWithApplication
from harness.cluster.live import LiveCluster
from harness.model.errors import ClusterError, FaultError
from harness.model.node_layout import FIRST_APPLICATION_ID as FIRST
from harness.model.polling import poll_within
from harness.spec.wait_conditions import OutputAtLeast
from workloads.applications import running_application
from workloads.applications.application_spec import ApplicationSpec, DrainedWhen, ReadyWhen
from workloads.applications.container_instance import Instance
from workloads.applications.group_watch import GroupWatch
from workloads.applications.running_application import RunningApplication

pytestmark = pytest.mark.pure


class Made:
    """An instance that runs from its start until it is told otherwise."""

    def __init__(self, number: int) -> None:
        self.name = f"application {number}"
        self.pid = 4000 + number
        self.starts, self.running, self.frozen, self.says = 0, False, False, ""
        self.code: int | None = None
        self.start_ns = 0
        self.bytes = 0

    def start(self) -> None:
        self.starts, self.running, self.code = self.starts + 1, True, None
        self.start_ns = time.time_ns()

    def end(self, code: int) -> None:
        self.running, self.code = False, code

    def stop(self, seconds: float = 1.0) -> None:  # noqa: ARG002
        self.end(0)

    def remove(self) -> None:
        self.end(137)

    def kill(self) -> None:
        self.end(137)

    def terminate(self) -> None:
        self.end(143)

    def pause(self) -> None:
        self.frozen = True

    def unpause(self) -> None:
        self.frozen = False

    def is_paused(self) -> bool:
        return self.frozen

    def is_running(self) -> bool:
        return self.running

    def exit_code(self) -> int | None:
        return self.code

    def started_ns(self) -> int:
        return self.start_ns

    def last_lines(self, count: int = 8) -> str:  # noqa: ARG002
        return "its last line"

    def log_since(self, since_ns: int) -> str:  # noqa: ARG002
        return self.says

    def stats(self) -> dict[str, Any]:
        return {"name": self.name}

    def table_bytes(self, folder: str) -> int:  # noqa: ARG002
        return self.bytes


class Group:
    """What a `GroupWatch` tells."""

    def __init__(self) -> None:
        self.group = "g"
        self.partitions = 1
        self.members: tuple[str, ...] = ()
        self.inactive: str | None = None
        self.lag: str | None = None
        self.offsets: dict[str, dict[int, int]] = {"in": {0: 10}, "out": {0: 10}}

    def strangers(self) -> tuple[str, ...]:
        return self.members

    def describe_inactive(self) -> str | None:
        return self.inactive

    def describe_lag(self, allowed: int) -> str | None:  # noqa: ARG002
        return self.lag

    def ends(self) -> dict[int, int]:
        return self.offsets["in"]


class Output:
    """What a `GroupWatch` tells of the output topic."""

    topic = "out"

    def __init__(self, group: Group) -> None:
        self._group = group

    def ends(self) -> dict[int, int]:
        return self._group.offsets["out"]


class Rows(list[Any]):
    def events(self) -> list[tuple[int, str]]:
        return [(row["instance"], row["event"]) for row in self]


@pytest.fixture
def group() -> Group:
    return Group()


@pytest.fixture
def made() -> list[Made]:
    return [Made(0), Made(1)]


@pytest.fixture
def rows() -> Rows:
    return Rows()


def _running(
    made: list[Made],
    group: Group,
    rows: Rows,
    ready: ReadyWhen | None = None,
    drained: DrainedWhen | None = None,
    checkpoints: Mapping[int, int] | None = None,
    output: bool = True,
    **fields: Any,
) -> RunningApplication:
    spec = ApplicationSpec.model_validate({"run": {"process": ["x"]}, "instances": len(made), **fields})
    return RunningApplication(
        spec,
        cast(list[Instance], made),
        cast(GroupWatch, group),
        ready=ready or ReadyWhen(group="active", within=0.3),
        drained=drained or DrainedWhen(lag=0, within=0.3),
        output=cast(GroupWatch, Output(group)) if output else None,
        tables=["", ""],
        value_bytes=100,
        checkpoints=None if checkpoints is None else lambda: dict(checkpoints),
        events=rows,
    )


@pytest.fixture
def application(made: list[Made], group: Group, rows: Rows) -> Iterator[RunningApplication]:
    one = _running(made, group, rows)
    one.start()
    yield one
    one.remove()


def _await(condition: Any) -> None:
    assert poll_within(60, lambda: None if condition() else "not yet") is None


def test_a_life_without_faults(application: RunningApplication, rows: Rows) -> None:
    application.drain()
    application.stop()
    assert application.drained
    assert application.problems == []
    life = ["started", "ready", "drained", "stopped"]
    assert sorted(rows.events()) == sorted((number, event) for number in (0, 1) for event in life)


def test_a_group_with_members_is_refused_before_anything_starts(
    made: list[Made], group: Group, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running_application, "OTHERS_SECONDS", 0.2)
    group.members = ("other at /10.0.0.9",)
    with pytest.raises(ClusterError, match="has members already") as refused:
        _running(made, group, rows).start()
    assert "other at /10.0.0.9" in str(refused.value)
    assert made[0].starts == 0


def test_members_that_leave_in_time_are_no_matter(
    made: list[Made], group: Group, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = iter([("killed at /10.0.0.9",), ()])
    monkeypatch.setattr(group, "strangers", lambda: next(left))
    one = _running(made, group, rows)
    one.start()
    one.remove()
    assert made[0].starts == 1


def test_never_ready_has_what_is_missing_and_the_last_lines(
    made: list[Made], group: Group, rows: Rows
) -> None:
    group.inactive = "group g is EMPTY, with 0 member(s)"
    with pytest.raises(ClusterError, match="not ready within") as refused:
        _running(made, group, rows).start()
    assert "group g is EMPTY" in str(refused.value)
    assert "its last line" in str(refused.value)


def test_an_end_before_it_is_ready(made: list[Made], group: Group, rows: Rows) -> None:
    group.inactive = "nothing yet"
    made[1].start = lambda: made[1].end(3)  # type: ignore[method-assign]
    with pytest.raises(ClusterError, match="ended before it was ready") as refused:
        _running(made, group, rows).start()
    assert "exit code 3; its last lines:" in str(refused.value)


@pytest.mark.parametrize(
    ("ready", "missing"),
    [
        (ReadyWhen(logged="up", within=0.2), "has not printed 'up'"),
        (ReadyWhen(runs=60, within=0.2), "has not run for 60 s"),
    ],
)
def test_other_conditions_of_readiness(
    made: list[Made], group: Group, rows: Rows, ready: ReadyWhen, missing: str
) -> None:
    made[0].says = "it is u"
    with pytest.raises(ClusterError, match="not ready") as refused:
        _running(made, group, rows, ready=ready).start()
    assert missing in str(refused.value)


def test_an_empty_output_shows_nothing(
    application: RunningApplication, group: Group, made: list[Made]
) -> None:
    group.offsets["out"] = {0: 0}
    application.drain()
    assert not application.drained
    (problem,) = application.problems
    assert (
        "written nothing to its output topic out, and its group g has committed all of its input." in problem
    )
    assert "Does it write to another one? Its last lines: " in problem
    # An input without records has no output either.
    group.offsets["in"] = {0: 0}
    empty = _running(made, group, Rows())
    empty.start()
    empty.drain()
    empty.remove()
    assert empty.drained


def test_an_empty_output_is_told_with_the_errors_of_the_log(
    application: RunningApplication, group: Group, made: list[Made]
) -> None:
    group.offsets["out"] = {0: 0}
    made[0].says = (
        "INFO begun\n" + "2026-11-28 ERROR handler: not a str\n" * 5000 + "INFO started successfully\n"
    )
    application.drain()
    (problem,) = application.problems
    assert "write to another one" not in problem
    assert problem.endswith(
        "Its log has 5,000 lines at the level of an error, the first: 2026-11-28 ERROR handler: not a str"
    )


def test_what_is_not_drained_is_a_problem(application: RunningApplication, group: Group) -> None:
    group.lag = "group g is 3 record(s) behind"
    application.drain()
    assert not application.drained
    assert application.problems == [
        "the application has not drained within 0.3 s: group g is 3 record(s) behind"
    ]


def test_a_checkpoint_must_be_at_the_end_of_every_partition(
    made: list[Made], group: Group, rows: Rows
) -> None:
    drained = DrainedWhen(checkpoint=True, within=0.3)
    behind = _running(made, group, rows, drained=drained, checkpoints={0: 9})
    behind.start()
    behind.drain()
    behind.remove()
    assert behind.problems[0].endswith("its checkpoint of partition 0 is 9 of 10")
    there = _running(made, group, rows, drained=drained, checkpoints={0: 10})
    there.start()
    there.drain()
    there.remove()
    assert there.drained


def test_a_checkpoint_is_at_no_end_while_a_leader_does_not_answer(
    made: list[Made], group: Group, rows: Rows
) -> None:
    drained = DrainedWhen(checkpoint=True, within=0.3)
    one = _running(made, group, rows, drained=drained, checkpoints={0: 10, 1: 10})
    one.start()
    group.partitions = 2
    one.drain()
    one.remove()
    assert one.problems[0].endswith("not every leader tells the end of its partition")


def test_an_end_by_itself_is_a_problem_with_its_last_lines(
    application: RunningApplication, made: list[Made], rows: Rows
) -> None:
    made[0].end(1)
    _await(lambda: (0, "exited") in rows.events())
    application.drain()
    assert not application.drained
    assert application.problems == [
        "application 0 ended by itself with code 1; its last lines: its last line"
    ]


def test_restarts_are_as_many_as_allowed(made: list[Made], group: Group, rows: Rows) -> None:
    one = _running(made, group, rows, restarts=1)
    one.start()
    try:
        made[0].end(1)
        _await(lambda: made[0].starts == 2)
        made[0].end(1)
        _await(lambda: rows.events().count((0, "exited")) == 2)
        time.sleep(0.6)
        assert made[0].starts == 2
        assert [(gone.instance, gone.code, gone.again) for gone in one.exits] == [(0, 1, True), (0, 1, False)]
        assert one.exits[0].last_lines == "its last line"
        assert one.exits[0].at_ns < one.exits[1].at_ns
    finally:
        one.remove()


@pytest.mark.parametrize("code", [3, 0])
def test_what_must_fail_is_not_drained_before(made: list[Made], group: Group, rows: Rows, code: int) -> None:
    one = _running(made[:1], group, rows, must_fail=True)
    one.start()
    try:
        one.drain()
        assert one.problems == [
            "the application has not drained within 0.3 s: `must_fail` asks for its end with an error"
        ]
        one.problems.clear()
        made[0].end(code)
        _await(lambda: (0, "exited") in rows.events())
        one.drain()
        assert not one.drained
        assert one.failed == bool(code)
        assert bool(one.problems) == (not code), "an end without an error is not what was asked for"
    finally:
        one.remove()


def test_what_was_started_again_drains_once_it_is_ready_again(
    made: list[Made], group: Group, rows: Rows
) -> None:
    made[0].says = made[1].says = "up"
    one = _running(made, group, rows, ready=ReadyWhen(logged="up", within=0.3))
    one.start()
    try:
        made[1].says = ""
        missing = one.await_state("drained", 0.3)
        assert missing == "application 1 has not printed 'up'"
        made[1].says = "up"
        assert one.await_state("drained", 60) is None
        assert one.await_state(OutputAtLeast(output=10), 60) is None
        assert one.await_state(OutputAtLeast(output=11), 0.2) == "its output has 10 offsets of 11"
    finally:
        one.remove()


def test_there_is_no_flood_without_the_ends_of_all_inputs(made: list[Made], group: Group, rows: Rows) -> None:
    group.offsets = {"in": {}, "out": {0: 50_000}}
    one = _running(made, group, rows, flood=2.0)
    one._look_for_flood()
    assert one.problems == []
    group.offsets["in"] = {0: 10}
    one._look_for_flood()
    assert "it had written 50,000 records from 10" in one.problems[0]


def test_a_flood_is_killed(made: list[Made], group: Group, rows: Rows) -> None:
    one = _running(made, group, rows, flood=2.0)
    one.start()
    try:
        group.offsets["out"] = {0: 10_020}
        time.sleep(2.6)
        assert made[0].running
        group.offsets["out"] = {0: 10_021}
        _await(lambda: not made[0].running and not made[1].running)
        assert "it had written 10,021 records from 10" in one.problems[0]
        one.drain()
        assert not one.drained
        assert len(one.problems) == 1
    finally:
        one.remove()


def test_a_flood_of_a_table_is_killed(made: list[Made], group: Group, rows: Rows) -> None:
    one = _running(made, group, rows, output=False, flood=2.0)
    one.start()
    try:
        most = (2 * 10 + 10_000) * 1024
        made[0].bytes, made[1].bytes = most - 1, 1
        one._look_for_flood()
        assert made[0].running
        made[1].bytes = 2
        one._look_for_flood()
        assert not made[0].running
        assert not made[1].running
        one.drain()
        assert not one.drained
        assert one.problems == [
            "the application was killed: its table had grown to 9.8 MiB from 10 inputs, more than 2 times "
            "what they may become (`flood`)"
        ]
    finally:
        one.remove()


def test_faults_reach_instances_and_their_ends_are_expected(
    application: RunningApplication, made: list[Made], rows: Rows
) -> None:
    restarted: list[int] = []
    view = ClusterWithApplication(cast(LiveCluster, None), application, restarted.append)
    assert view.application_ids == (FIRST, FIRST + 1)
    view.kill(FIRST)
    assert not view.is_running(FIRST)
    assert view.is_running(FIRST + 1)
    assert view.exit_code(FIRST) == 137
    time.sleep(0.6)
    view.start_node(FIRST)
    view.start_node(FIRST)
    assert restarted == [FIRST]
    assert made[0].starts == 2
    view.pause(FIRST + 1)
    assert view.is_paused(FIRST + 1)
    view.unpause(FIRST + 1)
    assert not view.is_paused(FIRST + 1)
    assert view.stats(FIRST) == {"name": "application 0"}
    assert application.exits == []
    assert [event for number, event in rows.events() if number == 0] == [
        "started",
        "ready",
        "killed",
        "restarted",
    ]


def test_an_application_that_is_gone_needs_no_heal() -> None:
    view = ClusterWithApplication(cast(LiveCluster, None), None)
    assert view.application_ids == ()
    assert not view.is_running(FIRST)
    assert not view.is_paused(FIRST)
    view.start_node(FIRST)
    view.limit(FIRST, cpu_quota=-1)
    with pytest.raises(FaultError, match="does not run any more"):
        view.address(FIRST)
    with pytest.raises(FaultError, match="cannot be aimed at an application"):
        view.in_files(FIRST, "true")
