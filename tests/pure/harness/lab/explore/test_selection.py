"""What comes next: by weight, by what is new, and the same for the same seed; and what menus are refused."""

from __future__ import annotations

import random
from collections import Counter
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml

from faults.shared.fault_spec import KINDS
from harness.lab.explore.menu import BUILT_IN, MENU, ExploreMenu, experiment_of
from harness.lab.explore.phases import ADDITIONAL, ClusterPhase, ObservedFault
from harness.lab.explore.result import TrialRun
from harness.lab.explore.selection import (
    Coverage,
    DrawnTrial,
    all_levels,
    all_pairs,
    all_phases,
    choose,
    draw,
    novelty,
)
from harness.lab.explore.trial import Trial, TrialFault
from harness.model.errors import BadInput, KafkaChaosError
from harness.model.result import VerdictWord
from harness.spec.cluster_shape import shape_of
from tests.support.fake_explore_backend import SMALL, menu_of

pytestmark = pytest.mark.pure

NAMES = ["kill-leader", "cut-followers", "pause-leader"]


def made(
    trial: Trial,
    aims: tuple[ClusterPhase, ...] = (ClusterPhase.STEADY,),
    *,
    seen: tuple[ClusterPhase, ...] = (ClusterPhase.STEADY,),
    verified: bool = True,
) -> TrialRun:
    """A run of which each fault hit one phase."""
    return TrialRun(
        number=1,
        violation=None,
        trial=trial,
        aims=aims,
        seen=tuple(
            ObservedFault(place=place, phases=(phase,), verified=verified) for place, phase in enumerate(seen)
        ),
        folder="runs/0001",
        seed=0,
        verdict=VerdictWord.VALID,
        started_ns=0,
        seconds=1.0,
    )


def coverage_of(menu: ExploreMenu, runs: list[TrialRun]) -> Coverage:
    found = Coverage()
    for run in runs:
        found.add(menu, run)
    return found


def alone(name: str, **settings: str) -> Trial:
    return Trial(settings=settings, faults=(TrialFault(name=name, at=2.0, lasting=3.0),), rate=400)


def as_aimed(trial: Trial, aims: tuple[ClusterPhase, ...]) -> TrialRun:
    """A run whose faults hit just the phases that they were meant to."""
    return made(trial, aims, seen=aims)


def series(menu: ExploreMenu, seed: int, count: int = 8) -> list[tuple[Trial, tuple[ClusterPhase, ...]]]:
    coverage, found = Coverage(), []
    for number in range(count):
        drawn = choose(menu, NAMES, coverage, (), f"{seed}/{number}")
        coverage.add(menu, as_aimed(drawn.trial, drawn.aims))
        found.append((drawn.trial, drawn.aims))
    return found


def test_the_same_seed_and_history_give_the_same_schedules() -> None:
    menu = menu_of()
    assert series(menu, 5) == series(menu, 5)
    assert series(menu, 5) != series(menu, 6)


def test_what_comes_next_hangs_on_what_was_covered() -> None:
    menu = menu_of(most_faults=1, settings={})
    coverage = coverage_of(menu, [made(alone(name)) for name in ("kill-leader", "cut-followers")] * 3)
    nexts = Counter(choose(menu, NAMES, coverage, (), f"{seed}/1").trial.faults[0].name for seed in range(20))
    # Its weight is half of theirs, and yet.
    assert nexts["pause-leader"] > 14


def test_more_is_covered_than_by_weight_alone() -> None:
    menu, rng = menu_of(), random.Random(4)
    guided = coverage_of(menu, [as_aimed(*one) for one in series(menu, 4, 20)])
    drawn = [found for _ in range(20) if (found := draw(menu, NAMES, rng)) is not None]
    chance = coverage_of(menu, [as_aimed(one.trial, one.aims) for one in drawn])
    assert len(guided.phases) > len(chance.phases)
    assert all(guided.levels[one] for one in all_levels(menu, NAMES))
    assert set(all_pairs(menu, NAMES)) >= set(guided.pairs)


def test_only_faults_that_were_shown_count_as_covered() -> None:
    menu = menu_of()
    unseen = made(alone("kill-leader"), verified=False)
    elsewhere = made(alone("kill-leader"), aims=(ClusterPhase.RECOVERING,))
    assert not coverage_of(menu, [unseen]).phases
    assert not coverage_of(menu, [unseen]).levels
    found = coverage_of(menu, [elsewhere])
    assert found.phases == {("kill-leader", ClusterPhase.STEADY): 1}
    assert found.missed == {("kill-leader", ClusterPhase.RECOVERING): 1}


def test_a_phase_that_cannot_be_had_loses_its_charm() -> None:
    menu, coverage = menu_of(), Coverage()
    drawn = DrawnTrial(alone("kill-leader"), (ClusterPhase.ELECTING,))
    before = novelty(menu, drawn, coverage, ())
    coverage.missed["kill-leader", ClusterPhase.ELECTING] += 3
    assert novelty(menu, drawn, coverage, ()) < before


def test_what_is_known_to_break_is_drawn_less() -> None:
    menu, known = menu_of(), [alone("kill-leader", acks="1")]
    fresh = DrawnTrial(alone("kill-leader"), (ClusterPhase.STEADY,))
    same = DrawnTrial(alone("kill-leader", acks="1"), (ClusterPhase.STEADY,))
    akin = DrawnTrial(alone("cut-followers", acks="1"), (ClusterPhase.STEADY,))
    found = [novelty(menu, one, Coverage(), known) for one in (fresh, akin, same)]
    assert found == sorted(found, reverse=True)
    assert found[2] < found[0] / 10
    assert novelty(menu, same, Coverage(), ()) == found[0]


def test_a_schedule_holds_another_with_fewer_faults_and_settings() -> None:
    one = alone("kill-leader", acks="1")
    twice = Trial(faults=(*one.faults, TrialFault(name="kill-leader", at=9.0, lasting=1.0)))
    assert alone("kill-leader", acks="1", producers="5").holds(one)
    assert not alone("kill-leader").holds(one)
    assert not alone("pause-leader", acks="1").holds(one)
    assert not one.holds(twice)
    assert twice.holds(alone("kill-leader"))


def test_schedules_are_possible_and_reach_every_phase() -> None:
    menu, rng = menu_of(), random.Random(3)
    drawn = [found for _ in range(80) if (found := draw(menu, NAMES, rng)) is not None]
    assert {aim for one in drawn for aim in one.aims} == set(ClusterPhase) - set(ADDITIONAL)
    assert {len(one.trial.faults) for one in drawn} == {1, 2, 3}
    for one in drawn:
        experiment = experiment_of(menu, one.trial)
        (step,) = experiment.steps
        assert step.write is not None
        assert step.write.rate in (400, 1000)
        assert len(step.write.faults) == len(one.trial.faults)


def test_a_fault_is_not_drawn_beside_itself_unless_it_takes_down_another_broker() -> None:
    moved = {
        "name": "reassign",
        "fault": {"reassign": {"partition": 0, "to": {"nodes": [2, 3]}}},
        "for": [2, 6],
    }
    menu, rng = menu_of(faults=[*SMALL["faults"], moved]), random.Random(3)
    beside = Counter()
    for _ in range(200):
        drawn = draw(menu, ["kill-leader", "reassign"], rng)
        assert drawn is not None
        for one, two in combinations(drawn.trial.faults, 2):
            if one.name == two.name:
                beside[one.name, two.at < one.end + 4] += 1
    assert beside["reassign", False] > 10
    assert not beside["reassign", True]
    assert beside["kill-leader", True] > 10


@pytest.mark.parametrize(
    ("name", "pair", "other"),
    [
        ("quorum", ("reassign", "move-leader"), "more-threads"),
        ("machines", ("controller-ahead", "controller-behind"), "more-partitions"),
        ("machines", ("wrong-names", "no-names"), "more-partitions"),
    ],
)
def test_faults_that_restore_the_same_do_not_overlap(name: str, pair: tuple[str, str], other: str) -> None:
    menu, rng = MENU.load(name)[0], random.Random(5)
    together = 0
    for _ in range(100):
        drawn = draw(menu, [*pair, other], rng)
        assert drawn is not None
        moves = [one for one in drawn.trial.faults if one.name != other]
        together += len({one.name for one in moves}) == 2
        assert all(one.end < two.at for one, two in pairwise(sorted(moves, key=lambda one: one.at)))
    assert together > 10


def test_weights_decide() -> None:
    faults = [{**fault, "weight": 20 if fault["name"] == "kill-leader" else 1} for fault in SMALL["faults"]]
    menu, rng = menu_of(most_faults=1, faults=faults), random.Random(3)
    drawn = Counter(draw(menu, NAMES, rng).trial.faults[0].name for _ in range(100))  # type: ignore[union-attr]
    assert drawn["kill-leader"] > 80


def test_without_transactions_none_is_to_be_covered() -> None:
    menu = menu_of()
    assert len(all_phases(menu, NAMES)) == 12
    built_in = MENU.load(BUILT_IN)[0]
    names = [fault.name for fault in built_in.faults]
    assert len(all_phases(built_in, names)) == 5 * len(names)
    assert len(all_pairs(built_in, names)) == len(names) * (len(names) + 1) // 2


def test_a_quorum_of_three_leaves_brokers_alone() -> None:
    menu = MENU.load("quorum")[0]
    shape = shape_of(menu.cluster, menu.topic)
    downs = {one.name: one.fault.max_brokers_down(shape) for one in menu.faults}
    assert {name for name, most in downs.items() if most == 0} >= {"kill-active", "cut-active", "deaf-active"}
    assert max(downs.values()) == menu.at_most_down
    for settings in ({"client": "java"}, {"transactions": "true"}):
        assert menu.why_impossible(alone("cut-active", **settings)) is None


def test_the_menu_of_machines_has_clusters_whose_disks_and_clocks_can_fail() -> None:
    menu = MENU.load("machines")[0]
    assert (menu.cluster.disk_mib, menu.cluster.skewable_clocks) == (128, True)
    shape = shape_of(menu.cluster, menu.topic)
    assert max(one.fault.max_brokers_down(shape) for one in menu.faults) == menu.at_most_down
    for settings in ({"client": "java"}, {"transactions": "true"}):
        assert menu.why_impossible(alone("full-leader", **settings)) is None


def test_the_menus_that_promise_everything_have_every_fault_that_is_possible_alone() -> None:
    tried = {one.fault.kind for name in ("safe", "quorum", "machines") for one in MENU.load(name)[0].faults}
    # Why, is in docs/how-to/explore.md.
    left_out = {"finalize", "elect", "ring", "acl_deny", "delete_records", "command", "reorder"}
    assert tried == {name for name, kind in KINDS.items() if kind.__module__.startswith("faults.")} - left_out


def test_the_menu_of_groups_has_phases_of_its_own() -> None:
    menu = MENU.load("groups")[0]
    names = [fault.name for fault in menu.faults]
    assert menu.grouped
    assert {phase for _, phase in all_phases(menu, names)} == set(ClusterPhase) - {
        ClusterPhase.TRANSACTION_OPEN
    }
    readers = {
        label: experiment_of(menu, alone("kill-leader", protocol=label)).readers[0]
        for label in ("cooperative", "consumer")
    }
    assert (readers["consumer"].protocol, readers["cooperative"].assignor) == (
        "consumer",
        "cooperative-sticky",
    )
    both = experiment_of(menu, alone("kill-leader", commits="auto"), control=True)
    assert [both.readers_of(arm)[0].commits for arm in both.arms] == ["auto", "manual"]


def test_the_menu_of_share_groups_sets_what_they_have() -> None:
    menu = MENU.load("share-groups")[0]
    made = experiment_of(menu, alone("kill-leader", acknowledge="mixed", members="killed"), control=True)
    groups = [made.share_of(arm)[0] for arm in made.arms]
    assert [(one.acknowledge, one.kills, one.lock) for one in groups] == [
        ("mixed", (3.0, 7.0), 5.0),
        ("accept", (), 5.0),
    ]
    names = [fault.name for fault in menu.faults]
    phases = {phase for _, phase in all_phases(menu, names)}
    assert ClusterPhase.REBALANCING in phases
    assert ClusterPhase.COORDINATOR_MOVING not in phases
    for label in ("explicit", "implicit"):
        assert experiment_of(menu, alone("kill-leader", mode=label)).share[0].mode == label
    # Each of the last deliveries would take as long as the hold: minutes for a run.
    with pytest.raises(ValueError, match=r"two settings set share\.hold"):
        experiment_of(menu, alone("kill-leader", acknowledge="release", hold="long"))


def test_the_built_in_menu_names_no_loss() -> None:
    text = MENU.builtin_text(BUILT_IN)
    assert not any(word in text for word in ("lost", "loss", "promise"))
    menu = MENU.load(BUILT_IN)[0]
    assert {"acks", "min-isr", "unclean"} <= set(menu.settings)
    assert all(menu.default_of(axis) in ("all", "2", "1", "false") for axis in menu.settings)


def changed(**fault: Any) -> list[dict[str, Any]]:
    return [{**SMALL["faults"][0], **fault}]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"faults": []}, "faults"),
        ({"faults": changed(name="Kill leader")}, "faults[0].name"),
        ({"faults": changed(fault={"kil": {"target": {"leader": 0}}})}, "did you mean 'kill'"),
        ({"faults": changed(fault={"kill": {"target": {"leader": 7}}})}, "faults[0]"),
        ({"faults": changed(**{"for": [5, 1]})}, "the smaller number comes first"),
        ({"faults": changed(wieght=2)}, "did you mean 'weight'"),
        ({"faults": [*SMALL["faults"], SMALL["faults"][0]]}, "two faults are named 'kill-leader'"),
        ({"settings": {"acks": {"all": None, 7: {"producer": {"acks": 7}}}}}, "settings.acks.7"),
        (
            {"settings": {"idem": {"on": {"producer": {"enable.idempotence": True, "acks": 1}}}}},
            "enable.idempotence needs acks=all",
        ),
        (
            {"settings": {"a": {"x": {"topic": {"min.insync.replicas": 1}}},
                          "b": {"y": {"topic": {"min.insync.replicas": 2}}}}},
            "two settings set topic.min.insync.replicas",
        ),
        ({"topic": {"replication_factor": 5}}, "the cluster has 3 broker(s)"),
        ({"rates": []}, "rates"),
        ({"most_faults": 0}, "most_faults"),
    ],
)  # fmt: skip
def test_bad_menus_are_refused_with_their_place(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(BadInput) as caught:
        menu_of(**changes)
    assert says in str(caught.value)
    assert "small.yaml" in str(caught.value)


def test_a_menu_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    with pytest.raises(BadInput, match="the menu file cannot be read"):
        MENU.load(str(path))
    path.write_text(yaml.safe_dump(SMALL, sort_keys=False))
    assert MENU.load(str(path))[0] == menu_of()
    path.write_text("- a list")
    with pytest.raises(BadInput, match="this is not a menu"):
        MENU.load(str(path))


def test_a_menu_of_which_no_schedule_is_possible() -> None:
    menu = menu_of()
    with pytest.raises(KafkaChaosError, match="no schedule of the menu is possible"):
        choose(menu.model_copy(update={"at_most_down": 0}), NAMES, Coverage(), (), "1/1")


def test_a_menu_with_a_fault_on_requests_has_proxies_in_every_schedule() -> None:
    fault = {"requests": {"on": {"api": "Produce", "share": 0.1}, "do": "error NOT_ENOUGH_REPLICAS"}}
    menu = menu_of(
        faults=[
            {"name": "refuse", "fault": fault, "for": [1, 3]},
            {"name": "kill-leader", "fault": {"kill": {"target": {"leader": 0}}}, "for": [1, 3]},
        ]
    )
    for one in menu.faults:
        assert experiment_of(menu, one.alone()).cluster == menu.cluster
    assert menu.cluster.proxy
    assert not menu_of().cluster.proxy
