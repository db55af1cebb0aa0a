"""Targets resolve against the newest belief and by the seed, combine, and refuse to match nothing."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any, cast

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter, ValidationError

from faults.shared.fault_spec import InjectionContext
from faults.shared.words import node_names
from faults.targets import (
    KINDS,
    All,
    AnyOf,
    BaseTarget,
    Both,
    BrokerId,
    Chosen,
    Clients,
    Controller,
    Controllers,
    Coordinator,
    Followers,
    Isr,
    Leader,
    Majority,
    Minority,
    NodeIds,
    Not,
    OutOfSync,
    RandomBrokers,
    Some,
    Target,
)
from faults.targets import nodes as node_targets
from faults.targets.fault_cluster import FaultCluster
from faults.targets.target_context import ClusterShape, TargetContext
from harness.model.broker_views import TopologyView
from harness.model.errors import FaultError
from harness.model.node_layout import CLIENT, FIRST_APPLICATION_ID
from tests.support.builders.views import quiet, seen, silent, state, view
from tests.support.fake_cluster import FakeCluster, context

pytestmark = pytest.mark.pure

ADAPTER: TypeAdapter[BaseTarget] = TypeAdapter(Target)
SHAPE = ClusterShape(brokers=3, controllers=1, combined=False, partitions=2, replication_factor=3)


def read(value: Any) -> BaseTarget:
    return ADAPTER.validate_python(value)


def snapshot(
    shown: TopologyView | None = None,
    *,
    brokers: tuple[int, ...] = (1, 2, 3),
    controllers: tuple[int, ...] = (101, 102, 103),
    active: int | None = 101,
    coordinator: int | None = None,
    seed: str = "seed",
) -> TargetContext:
    class Cluster(FakeCluster):
        def coordinator(self, key: str, *, transactional: bool) -> int | None:
            return coordinator if (key, transactional) == ("g", False) else None

    cluster = Cluster([], broker_ids=brokers, controller_ids=controllers, active=[active])
    return TargetContext(cast(FaultCluster, cluster), shown or quiet(), "t", seed)


SHRUNK = view(*(seen(b, state(isr=(1, 3))) for b in (1, 2, 3)))
LEADERLESS = view(*(seen(b, state(leader=-1)) for b in (1, 2, 3)))


@pytest.mark.parametrize(
    ("target", "nodes"),
    [
        (Leader(leader=0), (1,)),
        (Followers(followers=0), (2, 3)),
        (Isr(isr=0), (1, 3)),
        (OutOfSync(out_of_sync=0), (2,)),
        (BrokerId(broker=3), (3,)),
        (NodeIds(nodes=(102, 2)), (2, 102)),
        (Controller(controller=True), (101,)),
        (Controllers(controllers=True), (101, 102, 103)),
        (All(all=True), (1, 2, 3)),
        (Clients(client=True), (CLIENT,)),
        (Leader(leader=0) | OutOfSync(out_of_sync=0), (1, 2)),
        (Followers(followers=0) & Isr(isr=0), (3,)),
        (~Leader(leader=0), (2, 3)),
        (~(Leader(leader=0) | BrokerId(broker=3)), (2,)),
        (Controllers(controllers=True) & Controller(controller=True), (101,)),
        (Controllers(controllers=True) & ~Controller(controller=True), (102, 103)),
        (~Leader(leader=0) & ~BrokerId(broker=3), (2,)),
    ],
)
def test_what_a_target_means(target: BaseTarget, nodes: tuple[int, ...]) -> None:
    assert target.resolve(snapshot(SHRUNK)) == nodes


def test_the_highest_leader_epoch_is_believed() -> None:
    stale = view(seen(1, state(mark=10)), seen(2, state(leader=2, epoch=1, mark=10)), silent(3))
    assert Leader(leader=0).resolve(snapshot(stale)) == (2,)


def test_a_coordinator_is_that_of_its_group_or_transactional_id() -> None:
    group = read({"coordinator": {"group": "g"}})
    assert group.resolve(snapshot(coordinator=2)) == (2,)
    with pytest.raises(FaultError, match="the target matches no node"):
        read({"coordinator": {"transactional_id": "g"}}).resolve(snapshot(coordinator=2))
    for bad in ({}, {"group": "g", "transactional_id": "g"}, {"group": ""}, "g"):
        with pytest.raises(ValidationError):
            read({"coordinator": bad})


def test_the_broker_that_stores_the_state_of_a_share_group_in_a_partition() -> None:
    asked = []

    class Stores(FakeCluster):
        def share_coordinator(self, group: str, topic: str, partition: int) -> int | None:
            asked.append((group, topic, partition))
            return 3 if partition == 1 else None

    there = context(Stores([quiet()])).snapshot()
    assert read({"coordinator": {"share_state": "q", "partition": 1}}).resolve(there) == (3,)
    with pytest.raises(FaultError, match="the target matches no node"):
        read({"coordinator": {"share_state": "q"}}).resolve(there)
    assert asked == [("q", "t", 1), ("q", "t", 0)]
    with pytest.raises(ValidationError, match="or `share_state`"):
        read({"coordinator": {"share_state": "q", "group": "q"}})


def test_a_share_group_has_another_name_in_each_run() -> None:
    asked = []

    class Asked(FakeCluster):
        def coordinator(self, key: str, *, transactional: bool) -> int | None:
            asked.append((key, transactional))
            return 1

    there = replace(context(Asked([quiet()])), groups={"q": "q-7f"}).snapshot()
    for named in ({"group": "q"}, {"group": "other"}, {"transactional_id": "q"}):
        assert read({"coordinator": named}).resolve(there) == (1,)
    assert asked == [("q-7f", False), ("other", False), ("q", True)]


@pytest.mark.parametrize(
    ("target", "where"),
    [
        (Leader(leader=5), snapshot()),
        (Followers(followers=5), snapshot()),
        (BrokerId(broker=9), snapshot()),
        (Leader(leader=0), snapshot(LEADERLESS)),
        (Isr(isr=0), snapshot(LEADERLESS)),
        (OutOfSync(out_of_sync=0), snapshot()),
        (
            Followers(followers=0),
            snapshot(view(*(seen(b, state(replicas=(1,), isr=(1,))) for b in (1, 2, 3)))),
        ),
        (Coordinator.model_validate({"coordinator": {"group": "g"}}), snapshot()),
        (Controller(controller=True), snapshot(active=None)),
        (NodeIds(nodes=(7, 201)), snapshot()),
        (RandomBrokers(random=4), snapshot()),
        (Minority(minority=True), snapshot(brokers=(1, 2))),
        (BrokerId(broker=1) & BrokerId(broker=2), snapshot()),
        (~All(all=True), snapshot()),
        (Leader(leader=0), snapshot(view(silent(1), silent(2), silent(3)))),
    ],
)
def test_a_target_that_matches_nothing_is_refused(
    target: BaseTarget, where: TargetContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_targets, "ELECTION_SECONDS", 0.05)
    with pytest.raises(FaultError, match="the target matches no node"):
        target.resolve(where)


def test_the_active_controller_is_waited_for_while_there_is_none() -> None:
    at = context(FakeCluster([quiet()], active=[None, None, 101])).snapshot()
    assert Controller(controller=True).resolve(at) == (101,)


SEEDS = st.text(max_size=20)
MANY = st.integers(min_value=1, max_value=9).map(lambda count: tuple(range(1, count + 1)))


@settings(deadline=None)
@given(SEEDS, MANY)
def test_minority_and_majority_of_a_seed_are_the_two_parts_of_the_brokers(
    seed: str, brokers: tuple[int, ...]
) -> None:
    at = snapshot(brokers=brokers, seed=seed)
    few, many = Minority(minority=True).choose(at), Majority(majority=True).choose(at)
    assert few | many == set(brokers)
    assert not few & many
    assert len(few) < len(brokers) / 2 < len(many)
    assert len(many) - len(few) <= 2, "no more than are needed"


@settings(deadline=None)
@given(SEEDS, MANY, st.data())
def test_the_same_seed_chooses_the_same_brokers(
    seed: str, brokers: tuple[int, ...], data: st.DataObject
) -> None:
    count = data.draw(st.integers(min_value=1, max_value=len(brokers)))
    target = RandomBrokers(random=count)
    chosen = target.resolve(snapshot(brokers=brokers, seed=seed))
    assert len(chosen) == count
    assert set(chosen) <= set(brokers)
    shuffled = tuple(data.draw(st.permutations(brokers)))
    assert target.resolve(snapshot(brokers=shuffled, seed=seed)) == chosen


def some(of: BaseTarget, count: int) -> Some:
    return Some(some=Chosen(of=of, count=count))  # type: ignore[arg-type]


@settings(deadline=None)
@given(SEEDS)
def test_some_are_as_many_as_asked_of_those_alone(seed: str) -> None:
    others = Controllers(controllers=True) & ~Controller(controller=True)
    five = snapshot(controllers=(101, 102, 103, 104, 105), seed=seed)
    chosen = some(others, 2).resolve(five)
    assert len(set(chosen)) == 2
    assert set(chosen) < set(others.resolve(five))
    assert some(others, 2).resolve(five) == chosen
    with pytest.raises(FaultError, match="matches no node"):
        some(others, 5).resolve(five)


def test_other_seeds_choose_other_brokers() -> None:
    chosen = {RandomBrokers(random=1).resolve(snapshot(seed=str(number))) for number in range(40)}
    assert chosen == {(1,), (2,), (3,)}


def test_a_choice_of_a_seed_is_the_same_in_every_version() -> None:
    """A replay must find what its journal says; change this only with the version of the journals."""
    nine = tuple(range(1, 10))
    chosen = [RandomBrokers(random=2).resolve(snapshot(brokers=nine, seed=f"7/kill-{n}")) for n in (1, 2, 3)]
    assert chosen == CHOSEN


CHOSEN = [(1, 8), (3, 4), (6, 7)]


def _leaves() -> st.SearchStrategy[BaseTarget]:
    partition = st.integers(min_value=0, max_value=1)
    return st.one_of(
        partition.map(lambda n: Leader(leader=n)),
        partition.map(lambda n: Followers(followers=n)),
        partition.map(lambda n: Isr(isr=n)),
        partition.map(lambda n: OutOfSync(out_of_sync=n)),
        st.sampled_from(["controller", "controllers", "minority", "majority", "all", "client"]).map(read),
        st.integers(min_value=1, max_value=3).map(lambda n: BrokerId(broker=n)),
        st.integers(min_value=1, max_value=3).map(lambda n: RandomBrokers(random=n)),
        st.lists(st.sampled_from([CLIENT, 1, 2, 3, 101]), min_size=1).map(lambda n: NodeIds(nodes=tuple(n))),
        st.just(read({"coordinator": {"group": "g"}})),
        st.just(read({"coordinator": {"transactional_id": "x"}})),
    )


def _combined(parts: st.SearchStrategy[BaseTarget]) -> st.SearchStrategy[BaseTarget]:
    return st.one_of(
        st.tuples(parts, parts).map(lambda two: two[0] | two[1]),
        st.tuples(parts, parts).map(lambda two: two[0] & two[1]),
        parts.map(lambda one: ~one),
        st.tuples(parts, st.integers(min_value=1, max_value=3)).map(lambda two: some(*two)),
    )


TARGETS = st.recursive(_leaves(), _combined, max_leaves=6)
TWO_PARTITIONS = view(
    *(seen(b, state(isr=(1, 3)), state(partition=1, leader=2, isr=(1, 2, 3))) for b in (1, 2, 3))
)


@settings(deadline=None)
@given(TARGETS)
def test_a_target_survives_being_written_down(target: BaseTarget) -> None:
    written = target.model_dump(mode="json", by_alias=True)
    assert read(written) == target
    assert ADAPTER.validate_json(ADAPTER.dump_json(target, by_alias=True)) == target
    VALIDATOR.validate(written)


@settings(deadline=None)
@given(TARGETS, TARGETS, SEEDS)
def test_targets_combine_as_sets(one: BaseTarget, other: BaseTarget, seed: str) -> None:
    at = snapshot(TWO_PARTITIONS, coordinator=3, seed=seed)
    first, second = one.choose(at), other.choose(at)
    assert (one | other).choose(at) == first | second
    assert (~one).choose(at) == {1, 2, 3} - first
    if not isinstance(one, Not) and not isinstance(other, Not):
        assert (one & other).choose(at) == first & second
        assert (one & ~other).choose(at) == first - second
    assert (~one & ~other).choose(at) == {1, 2, 3} - first - second


@settings(deadline=None)
@given(TARGETS, SEEDS, st.sampled_from([None, 1, 3]), st.booleans())
def test_bounds_hold_for_whatever_it_resolves_to(
    target: BaseTarget, seed: str, coordinator: int | None, combined: bool
) -> None:
    shape = ClusterShape(3, 3, combined, partitions=2, replication_factor=3)
    at = snapshot(
        TWO_PARTITIONS,
        controllers=(1, 2, 3) if combined else (101, 102, 103),
        active=2 if combined else 101,
        coordinator=coordinator,
        seed=seed,
    )
    chosen = target.choose(at)
    least, most = target.broker_count(shape)
    assert least <= len(chosen & {1, 2, 3}) <= most == target.max_brokers(shape)
    assert target.may_include_client() or CLIENT not in chosen
    with suppress(ValueError):
        target.refuse_impossible(shape)
        assert chosen <= target.possible_nodes(shape)
        if (fixed := target.fixed_nodes(shape)) is not None:
            assert chosen == fixed <= target.possible_nodes(shape)


@pytest.mark.parametrize(
    ("target", "possible"),
    [
        ("zookeeper", {201}),
        ({"any": ["zookeeper", {"broker": 7}]}, {201, 7}),
        ({"some": {"of": "controllers", "count": 1}}, {0, 1, 7}),
        ({"both": ["zookeeper", {"not": {"broker": 0}}]}, {201}),
        ({"not": "zookeeper"}, {0, 1, 7}),
        ({"broker": 0}, {0}),
        ({"nodes": [-1, 0]}, {CLIENT, 0}),
        ("majority", {0, 1, 7}),
    ],
)
def test_which_nodes_a_target_can_mean_with_ids_of_its_own_and_zookeeper(
    target: Any, possible: set[int]
) -> None:
    shape = ClusterShape(3, 1, True, 1, 3, zookeepers=(201,), own_ids=(0, 1, 7))
    read(target).refuse_impossible(shape)
    assert read(target).possible_nodes(shape) == possible


def test_the_brokers_of_a_cluster_of_ones_own_keep_their_ids() -> None:
    shape = ClusterShape(3, 1, False, 1, 3, own_ids=(0, 1, 7))
    at = snapshot(brokers=(0, 1, 7), controllers=())
    assert read({"broker": 0}).resolve(at) == read({"nodes": [0]}).resolve(at) == (0,)
    assert read("all").resolve(at) == (0, 1, 7)
    assert read({"not": {"broker": 7}}).fixed_nodes(shape) == {0, 1}
    assert not read({"nodes": [0, 7]}).may_include_client()
    with pytest.raises(ValueError, match=r"the brokers are 1 to 3 \(0 is for `existing` clusters\)"):
        BrokerId(broker=0).refuse_impossible(SHAPE)
    with pytest.raises(ValueError, match=r"the brokers are 0, 1, 7$"):
        BrokerId(broker=3).refuse_impossible(shape)
    with pytest.raises(FaultError, match="one of 0, 1, 7"):
        BrokerId(broker=3).resolve(at)
    # A broker may have the number that an instance or a controller has elsewhere.
    assert not read({"nodes": [301]}).may_include_application()
    assert node_names((CLIENT, 0, 1001)) == "broker 0, 1001, the client"
    assert node_names((1, 101, 105, 201, FIRST_APPLICATION_ID + 2)) == (
        "broker 1, controller 101, 105, ZooKeeper 201, application 2"
    )


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (Leader(leader=2), "partitions 0 to 1"),
        (OutOfSync(out_of_sync=9), "partitions 0 to 1"),
        (BrokerId(broker=4), "brokers are 1 to 3"),
        (NodeIds(nodes=(1, 102)), r"nodes are \[1, 2, 3, 101\]"),
        (RandomBrokers(random=4), "3 broker"),
        (BrokerId(broker=1) | BrokerId(broker=4), "brokers are 1 to 3"),
        (BrokerId(broker=1) & Leader(leader=7), "partitions 0 to 1"),
        (~BrokerId(broker=4), "brokers are 1 to 3"),
        (~All(all=True), "every broker"),
        (BrokerId(broker=1) & ~All(all=True), "every broker"),
    ],
)
def test_what_a_cluster_can_never_match_is_refused_before_it_starts(target: BaseTarget, words: str) -> None:
    with pytest.raises(ValueError, match=f"matches nothing.*{words}"):
        target.refuse_impossible(SHAPE)


def test_what_small_clusters_do_not_have() -> None:
    alone = ClusterShape(brokers=1, controllers=1, combined=False, partitions=1, replication_factor=1)
    for target in (Followers(followers=0), Minority(minority=True), ~BrokerId(broker=1)):
        with pytest.raises(ValueError, match="matches nothing"):
            target.refuse_impossible(alone)
    for fits in (Leader(leader=0), Majority(majority=True), All(all=True), Controller(controller=True)):
        fits.refuse_impossible(alone)


def test_how_many_brokers_are_left() -> None:
    assert (~BrokerId(broker=1)).max_brokers(SHAPE) == 2
    assert (~Leader(leader=0)).broker_count(SHAPE)[0] == 2
    assert (BrokerId(broker=1) | BrokerId(broker=2)).max_brokers(SHAPE) == 2
    assert (All(all=True) & Minority(minority=True)).max_brokers(SHAPE) == 1
    assert Controller(controller=True).max_brokers(SHAPE) == 0
    assert (BrokerId(broker=1) | Clients(client=True)).may_include_client()
    assert not (BrokerId(broker=1) & Clients(client=True)).may_include_client()


def test_targets_are_read_from_one_key_or_word() -> None:
    assert read({"leader": 0}) == Leader(leader=0)
    assert read("controller") == Controller(controller=True)
    assert read({"any": [{"leader": 0}, "controllers"]}) == Leader(leader=0) | Controllers(controllers=True)
    assert read({"both": ["all", {"not": {"broker": 1}}]}) == All(all=True) & ~BrokerId(broker=1)
    assert isinstance(read({"not": {"any": ["minority", "client"]}}), Not)


@pytest.mark.parametrize(
    "bad",
    [
        {"leeder": 0},
        {"leader": -1},
        {"leader": "first"},
        {"leader": 0, "broker": 1},
        {"controller": False},
        {"random": 0},
        {"nodes": []},
        {"any": []},
        {"not": {"leeder": 0}},
        {},
        "leader",
        "everything",
        7,
        None,
    ],
)
def test_what_is_no_target_is_refused(bad: object) -> None:
    with pytest.raises(ValidationError):
        read(bad)


class Holder(BaseModel):
    target: Target


SCHEMA = ADAPTER.json_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def test_the_schema_knows_every_target() -> None:
    text = str(SCHEMA)
    for key in KINDS:
        assert f"'{key}'" in text, key
    for good in ({"leader": 0}, "controller", {"any": ["all", {"not": {"broker": 1}}]}):
        jsonschema.validate(good, SCHEMA)
        jsonschema.validate({"target": good}, Holder.model_json_schema())
    for bad in ("leader", {"leader": -1}, {"leader": 0, "broker": 1}, {"any": ["nobody"]}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(bad, SCHEMA)


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (Leader(leader=0), "leader: 0"),
        (Controller(controller=True), "controller"),
        (NodeIds(nodes=(1, 2)), "nodes: [1, 2]"),
        (AnyOf.model_validate({"any": [{"leader": 0}, "controller"]}), "any: [{leader: 0}, controller]"),
        (Both.model_validate({"both": ["all", {"not": {"broker": 1}}]}), "both: [all, {not: {broker: 1}}]"),
        (read({"coordinator": {"group": "g"}}), "coordinator: {group: g}"),
    ],
)
def test_a_target_in_words(target: BaseTarget, words: str) -> None:
    assert str(target) == words


def test_a_scene_gives_targets_what_they_need() -> None:
    from tests.support.fake_cluster import FakeCluster, context

    cluster = FakeCluster([quiet()], controller_ids=(101, 102), active=[102], coordinating=3)
    at: InjectionContext = context(cluster)
    target = Controller(controller=True) | read({"coordinator": {"group": "g"}}) | Leader(leader=0)
    assert target.resolve(at.snapshot()) == (1, 3, 102)


def test_a_cluster_that_takes_long_to_answer_is_asked_again() -> None:
    nobody = view(*(silent(broker) for broker in (1, 2, 3)))
    slow = context(FakeCluster([nobody, quiet()]))
    assert Leader(leader=0).choose(slow.snapshot()) == {1}
    never = context(FakeCluster([nobody]))
    with pytest.raises(FaultError, match="no broker answered"):
        Leader(leader=0).choose(never.snapshot())
