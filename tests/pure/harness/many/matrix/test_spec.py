"""Matrices as data: what they expand to, and what is refused."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from harness.many.matrix.expand import MatrixArm, expand_matrix, librdkafka_refuses
from harness.many.matrix.plan import estimate
from harness.many.matrix.runner import in_round
from harness.many.matrix.spec import MATRIX, MatrixSpec, Repeats
from harness.many.run_time import format_duration, run_seconds
from harness.model.errors import BadInput
from tests.support.builders.matrices import parsed_matrix

pytestmark = pytest.mark.pure


OTHER_ACKS = {"levels": {"x": {"producer": {"acks": 0}}}}
ZOOKEEPER = {"cluster": {"metadata": "zookeeper"}}


def arms(**changes: Any) -> tuple[MatrixArm, ...]:
    return expand_matrix(parsed_matrix(**changes), "small.yaml")


def experiment(arm: MatrixArm) -> Any:
    assert arm.experiment is not None
    return arm.experiment


def test_axes_multiply_and_set_what_they_say() -> None:
    found = arms()
    assert [arm.name for arm in found] == [
        "acks=1_fault=kill",
        "acks=1_fault=none",
        "acks=all_fault=kill",
        "acks=all_fault=none",
    ]
    assert found[0].labels == {"acks": "1", "fault": "kill"}
    assert [experiment(arm).arms[0].producer.acks for arm in found] == ["1", "1", "all", "all"]
    assert [len(experiment(arm).steps[0].write.faults) for arm in found] == [1, 0, 1, 0]
    assert {experiment(arm).topic.config["min.insync.replicas"] for arm in found} == {"2"}


def test_an_axis_may_start_programs_of_ones_own() -> None:
    """What a level says below `own` takes the place of all that the base says there."""
    levels = {
        "franz": {"workload": {"own": {"command": ["./franz", "{bootstrap}"], "close_seconds": 60}}},
        "kafkajs": {"workload": {"own": {"command": ["node", "kafkajs.js"], "env": {"ACKS": "1"}}}},
    }
    base = {
        "workload": {"client": "own", "own": {"command": ["true"]}},
        "steps": [{"write": {"name": "load", "seconds": 1}}],
    }
    found = [experiment(arm).workload.own for arm in arms(base=base, axes={"program": {"levels": levels}})]
    assert [(own.command[0], own.env, own.close_seconds) for own in found] == [
        ("./franz", {}, 60),
        ("node", {"ACKS": "1"}, None),
    ]


def test_every_kind_of_axis() -> None:
    axes = {
        "acks": {"producer": "acks", "values": ["all"]},
        "isr": {"topic": "min.insync.replicas", "values": [1]},
        "bytes": {"broker": "message.max.bytes", "values": [2000000]},
        "version": {"version": ["3.9.2"]},
        "client": {"client": ["java"]},
        "rate": {"workload": "rate", "values": [100]},
        "nodes": {"cluster": "controllers", "values": [3]},
        "idempotence": {"producer": "enable.idempotence", "values": [True]},
    }
    (arm,) = arms(axes=axes)
    found = experiment(arm)
    assert found.topic.config == {"min.insync.replicas": "1"}
    assert found.cluster.properties == {"message.max.bytes": "2000000"}
    assert (found.cluster.version, found.cluster.controllers) == ("3.9.2", 3)
    assert (found.workload.client, found.workload.rate) == ("java", 100)
    assert arm.labels["idempotence"] == "true"
    assert len(arm.name) <= 60


def test_long_names_are_shortened_and_stay_apart() -> None:
    many = {f"axis-of-a-long-name-{n}": {"producer": f"p{n}", "values": [1]} for n in range(1)}
    many |= {f"another-long-name-{n}": {"levels": {"one": {}, "two": {}}} for n in range(4)}
    del many["axis-of-a-long-name-0"]
    names = [arm.name for arm in arms(axes=many)]
    assert len(set(names)) == 16
    assert max(map(len, names)) <= 60


def test_include_keeps_and_exclude_leaves_out() -> None:
    assert [arm.name for arm in arms(exclude=[{"acks": 1, "fault": "none"}])] == [
        "acks=1_fault=kill",
        "acks=all_fault=kill",
        "acks=all_fault=none",
    ]
    kept = arms(include=[{"fault": "kill"}, {"acks": ["all"], "fault": "none"}], exclude=[{"acks": 1}])
    assert [arm.name for arm in kept] == ["acks=all_fault=kill", "acks=all_fault=none"]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"axes": {}}, "at least 1 item"),
        ({"axes": {"acks": {"producer": "acks", "values": []}}}, "at least 1 item"),
        ({"exclude": [{}]}, "the matrix is empty"),
        ({"exclude": [{"acks": [1, "all"]}]}, "the matrix is empty"),
        ({"include": [{"acks": 1}], "exclude": [{"acks": 1}]}, "contradict each other"),
        ({"include": [{"acks": 2}]}, "the levels of acks are 1, all"),
        ({"exclude": [{"ack": 1}]}, "names the axis 'ack'; there are acks, fault"),
        ({"slo": [{"at": {"acks": 7}, "lost": 0}]}, "slo[0].at names acks=7"),
        ({"axes": {"a": {"producer": "acks", "values": [1, 1]}}}, "is given twice"),
        ({"axes": {"a": {"version": ["4.3.1", "4.3.1"]}}}, "is given twice"),
        ({"axes": {"a": {"producer": "ackz", "values": [1]}}}, "ackz"),
        (
            {"axes": {"a": {"producer": "acks", "values": [1]}, "b": OTHER_ACKS}},
            "two axes set producer.acks differently",
        ),
        ({"axes": {f"x{n}": {"levels": {f"l{m}": {} for m in range(10)}} for n in range(5)}}, "too large"),
        ({"repeats": {"at_least": 5, "at_most": 3}}, "less than at_least"),
        ({"repeats": {"narrower_than": 0.1}}, "needs `at_most` or `budget_minutes`"),
        ({"base": {"steps": []}}, "not exactly one write step"),
        ({"axis": {}}, "did you mean 'axes'"),
        ({"axes": {"a": {"levels": {"x": {"fautls": []}}}}}, "did you mean 'faults'?"),
        ({"axes": {"a": {"levels": {"x": {"topics": {}}}}}}, "did you mean 'topic'?"),
        ({"axes": {"a": {"levels": {"x": {"readers": [{"name": "r", "comits": 1}]}}}}}, "mean 'commits'?"),
        ({"axes": {"a": {"levles": {"x": {}}}}}, "did you mean 'levels'?"),
        ({"axes": {"a": {"producer": "acks", "valuse": [1]}}}, "did you mean 'values'?"),
        ({"axes": {"a": {"levels": {"x": {"producer": {"ackz": 1}}}}}}, "unknown key 'ackz'"),
        ({"axes": {"a": {"levels": {"x": {"producer": {"ackz": 1}}}}}}, "did you mean 'acks'?"),
        ({"axes": {"a": {"levels": {"x": {"workload": {"rte": 1}}}}}}, "did you mean 'rate'?"),
        ({"axes": {"a": {"levels": {"x": {"cluster": {"brokr": 1}}}}}}, "arm a=x: cluster.brokr"),
        ({"axes": {"v": {"version": ["4.3.1"]}}, "base": ZOOKEEPER}, "ZooKeeper"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(BadInput) as caught:
        arms(**changes)
    assert says in str(caught.value)
    assert "small.yaml" in str(caught.value)


def test_axes_may_agree() -> None:
    both = {"a": {"producer": "acks", "values": [1]}, "b": {"levels": {"x": {"producer": {"acks": 1}}}}}
    assert len(arms(axes=both)) == 1


def test_the_client_says_why_it_refuses() -> None:
    axes = {
        "acks": {"producer": "acks", "values": [0, "all"]},
        "idempotence": {"producer": "enable.idempotence", "values": [True]},
    }
    refused, good = arms(axes=axes)
    assert refused.experiment is None
    assert "acks" in (refused.refusal or "")
    assert "enable.idempotence" in (refused.refusal or "")
    assert good.experiment is not None
    assert librdkafka_refuses({"acks": "all"}) is None
    assert "no.such.property" in (librdkafka_refuses({"no.such.property": "1"}) or "")
    # What only the client can know of, since we have no field for it.
    (odd,) = arms(axes={"x": {"levels": {"odd": {"producer": {"extra": {"no.such.property": 1}}}}}})
    assert "no.such.property" in (odd.refusal or "")
    (java,) = arms(axes={"x": {"levels": {"j": {"workload": {"client": "java", "producers": 17}}}}})
    assert "producers" in (java.refusal or "")


@pytest.mark.parametrize("name", MATRIX.builtin_names())
def test_built_in_matrices_expand_and_are_kept_whole(name: str) -> None:
    spec, origin = MATRIX.load(name)
    found = expand_matrix(spec, origin)
    again = MatrixSpec.model_validate_json(spec.model_dump_json(by_alias=True, exclude_unset=True))
    assert again == spec
    assert expand_matrix(again, origin) == found
    assert estimate(found, spec.repeats).seconds < 3 * 3600


def test_acks_idempotence_is_every_pair_under_three_faults() -> None:
    found = expand_matrix(*MATRIX.load("acks-idempotence"))
    assert len(found) == 18
    refused = [arm for arm in found if arm.refusal]
    assert len(refused) == 6
    assert all(arm.labels["acks"] != "all" and arm.labels["idempotence"] == "true" for arm in refused)


def test_a_round_has_each_arm_once_in_random_order_by_the_seed() -> None:
    names = [f"arm-{number}" for number in range(8)]
    cluster = {name: f"c{number % 2}" for number, name in enumerate(names)}
    rounds = [in_round(names, cluster.__getitem__, 7, repeat, None) for repeat in range(20)]
    assert all(sorted(one) == names for one in rounds)
    assert rounds == [in_round(names[::-1], cluster.__getitem__, 7, repeat, None) for repeat in range(20)]
    assert len({tuple(one) for one in rounds}) > 15
    assert rounds[0] != in_round(names, cluster.__getitem__, 8, 0, None)
    for one in rounds:
        changes = sum(cluster[a] != cluster[b] for a, b in pairwise(one))
        assert changes == 1, "arms of one cluster stand together"
    for repeat in range(5):
        assert cluster[in_round(names, cluster.__getitem__, 7, repeat, "c1")[0]] == "c1"


def test_how_many_runs_an_arm_has_at_most() -> None:
    assert Repeats(at_least=3).most == 3
    assert Repeats(at_least=3, at_most=6, narrower_than=0.3).most == 6
    assert Repeats(at_least=1, budget_minutes=5).most == 100_000


def test_how_long_it_takes() -> None:
    spec = parsed_matrix()
    found = expand_matrix(spec, "small.yaml")
    one = run_seconds(experiment(found[0]))
    assert 5 < one < 30
    assert estimate(found, spec.repeats).runs == 12
    assert estimate(found, spec.repeats).seconds == pytest.approx(12 * one + 15)
    assert estimate(found, Repeats(at_least=3, budget_minutes=1)).seconds == 60
    assert format_duration(3 * 86_400 + 7200) == "3 days 2 h"
    assert format_duration(3661) == "1 h 01 min"
    assert format_duration(75) == "1 min 15 s"
