"""Schedules: what decide() says is a function of seed, clock and views, keeps its limits, and is foreseen."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from faults import Elect, Kill, Partition, Pause
from faults.schedules.brokers_down import Begun, most_brokers_down
from faults.schedules.decide import begin, decide, describe_unmet, simulate, unfinished
from faults.schedules.entries import ScheduleEntry, TimedFault
from faults.schedules.state import (
    Decision,
    FaultState,
    GiveUp,
    HealDecision,
    Now,
    Occurrence,
    Schedule,
    ScheduleState,
    Start,
    to_the_millisecond,
)
from faults.schedules.tracks import Repeating
from faults.shared.fault_spec import FaultSpec
from faults.targets import BrokerId, Followers, Leader
from faults.targets.target_context import ClusterShape
from harness.model.broker_views import TopologyView
from tests.support.builders.schedules import (
    acked,
    after,
    at,
    choice,
    every,
    for_,
    healed,
    injected,
    isr_below,
    leader_moved,
    menu,
    sequence,
    together,
)
from tests.support.builders.views import quiet, seen, state, view
from tests.support.fuzzing import fuzzed

pytestmark = pytest.mark.pure

SHAPE = ClusterShape(brokers=3, controllers=1, combined=False, partitions=1, replication_factor=3)
LEADER = Leader(leader=0)
KILL = Kill(target=LEADER)
PAUSE = Pause(target=BrokerId(broker=2))
CUT = Partition.model_validate({"from": LEADER, "to": Followers(followers=0)})
ENTRIES: TypeAdapter[tuple[ScheduleEntry, ...]] = TypeAdapter(tuple[ScheduleEntry, ...])


@dataclass
class Executor:
    """Does what is decided as a real one would: each phase of a fault takes some of the given time."""

    schedule: Schedule
    slow: dict[Occurrence, tuple[float, float]] = field(default_factory=dict)
    put_off: set[Occurrence] = field(default_factory=set)
    state: ScheduleState = field(init=False)
    phases: dict[Occurrence, FaultState] = field(default_factory=dict)
    pending: list[tuple[float, Occurrence, FaultState]] = field(default_factory=list)
    open: dict[Occurrence, FaultSpec] = field(default_factory=dict)
    log: list[tuple[float, Decision]] = field(default_factory=list)
    most_down: int = 0
    down_before: int = 0

    def __post_init__(self) -> None:
        self.state = begin(self.schedule)

    def look(self, seconds: float, **more: Any) -> tuple[Decision, ...]:
        for due, occurrence, phase in sorted(self.pending):
            if due <= seconds:
                self.pending.remove((due, occurrence, phase))
                self.phases[occurrence] = phase
                if phase is FaultState.HEALED:
                    del self.open[occurrence]
        now = Now(seconds, dict(self.phases), down_before=self.down_before, topic="t", **more)
        again = decide(self.schedule, self.state, now)
        decisions, self.state = decide(self.schedule, self.state, now)
        assert (decisions, self.state) == again, "the same look twice gives the same decisions"
        for decision in decisions:
            self.log.append((seconds, decision))
            self._do(seconds, decision)
        moments = {start.occurrence: start.at for start in self.starts()}
        opened = [Begun(fault, moments[occurrence]) for occurrence, fault in self.open.items()]
        self.most_down = max(self.most_down, self.down_before + most_brokers_down(opened, SHAPE))
        return decisions

    def _do(self, seconds: float, decision: Decision) -> None:
        if isinstance(decision, GiveUp):
            return
        occurrence = decision.occurrence
        verify, heal = self.slow.get(occurrence, (0.0, 0.0))
        if isinstance(decision, HealDecision):
            self.pending.append((seconds + heal, occurrence, FaultState.HEALED))
        elif occurrence in self.put_off:
            self.put_off.remove(occurrence)
            self.phases[occurrence] = FaultState.PUT_OFF
        else:
            self.phases[occurrence] = FaultState.BEGUN
            self.open[occurrence] = decision.fault
            self.pending.append((seconds + verify, occurrence, FaultState.SHOWN))

    def run(self, until: float, tick: float = 0.05, **more: Any) -> Executor:
        for number in range(round(until / tick) + 1):
            self.look(number * tick, **more)
        return self

    def starts(self) -> list[Start]:
        return [decision for _, decision in self.log if isinstance(decision, Start)]

    def heals(self) -> list[Occurrence]:
        return [decision.occurrence for _, decision in self.log if isinstance(decision, HealDecision)]


def schedule(*entries: ScheduleEntry, seed: str = "7/w", **limits: Any) -> Schedule:
    return Schedule.of(entries, seed, SHAPE, **limits)


def told(*entries: ScheduleEntry, **limits: Any) -> list[tuple[str, float, float]]:
    """(kind, begin, duration) of everything foreseen."""
    found = simulate(schedule(*entries, **limits)).faults
    return [(one.fault.name(), round(one.at, 3), one.lasting) for one in found]


# What files hold


@pytest.mark.parametrize(
    ("written", "built"),
    [
        ({"fault": {"kill": {"target": {"leader": 0}}}, "at": 2, "for": 3}, at(2).for_(3).do(KILL)),
        (
            {"fault": {"kill": {"target": {"leader": 0}}}, "every": 5, "for": 2, "from": 1, "times": 3},
            every(5, first=1, times=3).for_(2).do(KILL),
        ),
        (
            {
                "fault": {"kill": {"target": {"leader": 0}}},
                "after": {"isr_below": 3, "partition": 0},
                "for": 3,
                "within": 30,
                "name": "second",
            },
            after(isr_below(3, partition=0), within=30).for_(3).do(KILL, name="second"),
        ),
        (
            {
                "sequence": [
                    {"fault": {"kill": {"target": {"leader": 0}}}, "for": 3},
                    {"together": [{"fault": {"pause": {"target": {"broker": 2}}}, "for": 2}]},
                ],
                "pause": 1,
                "at": 4,
            },
            at(4).do(sequence(for_(3).do(KILL), together(for_(2).do(PAUSE)), pause=1)),
        ),
        (
            {
                "random": {
                    "menu": [{"fault": {"pause": {"target": {"broker": 2}}}, "weight": 2, "for": [1, 3]}],
                    "every": [3, 6],
                    "from": 1,
                    "at_most_down": 2,
                },
                "name": "storm",
            },
            menu(choice(PAUSE, (1, 3), 2), every=(3, 6), first=1, at_most_down=2, name="storm"),
        ),
    ],
)
def test_a_file_and_a_program_say_the_same(written: dict[str, Any], built: ScheduleEntry) -> None:
    (entry,) = ENTRIES.validate_python([written])
    assert entry == built
    assert ENTRIES.validate_json(ENTRIES.dump_json((entry,), by_alias=True)) == (entry,)


@pytest.mark.parametrize(
    "wrong",
    [
        {"at": 1, "every": 9},
        {"at": 1, "within": 3},
        {"at": 1, "times": 3},
        {"at": float("inf")},
        {},
        {"every": 1},
        {"after": {"isr_below": 3, "acked": 3}},
        {"after": {"acked": 3, "partition": 0}},
        {"after": {}},
        {"at": 1, "name": "Not A Name"},
    ],
)
def test_contradictory_times_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ENTRIES.validate_python([{"fault": KILL, "for": 2, **wrong}])


# What is foreseen


def test_fixed_times_and_rhythms() -> None:
    assert told(at(2).for_(3).do(KILL), every(5, first=1).for_(2).do(CUT), seconds=12) == [
        ("partition", 1, 2),
        ("kill", 2, 3),
        ("partition", 6, 2),
        ("partition", 11, 2),
    ]
    assert [begin for _, begin, _ in told(every(4).for_(1).do(PAUSE), seconds=13)] == [4, 8, 12]
    assert [begin for _, begin, _ in told(every(4, times=2).for_(1).do(PAUSE))] == [4, 8]
    assert [begin for _, begin, _ in told(every(4, until=8).for_(1).do(PAUSE))] == [4, 8]


def test_a_sequence_goes_on_when_everything_of_a_part_is_healed() -> None:
    parts = sequence(
        for_(1).do(KILL), together(for_(1).do(KILL), for_(4).do(PAUSE)), for_(2).do(CUT), pause=0.5
    )
    assert told(at(3).do(parts)) == [
        ("kill", 3, 1),
        ("kill", 4.5, 1),
        ("pause", 4.5, 4),
        ("partition", 9, 2),
    ]


def test_one_entry_waits_for_another() -> None:
    entries = (
        at(1).for_(2).do(KILL, name="first"),
        after(healed("first")).for_(1).do(PAUSE),
        after(injected("first")).for_(1).do(CUT),
    )
    assert told(*entries) == [("kill", 1, 2), ("partition", 1, 1), ("pause", 3, 1)]


def test_a_limit_puts_off_what_would_exceed_it_in_the_order_of_coming_due() -> None:
    entries = (at(2).for_(5).do(KILL), at(3).for_(1).do(PAUSE), at(3.5).for_(1).do(KILL))
    assert told(*entries, at_most_down=1) == [("kill", 2, 5), ("pause", 7, 1), ("kill", 8, 1)]
    assert told(*entries, at_most_down=2) == [("kill", 2, 5), ("pause", 3, 1), ("kill", 4, 1)]
    assert told(*entries) == [("kill", 2, 5), ("pause", 3, 1), ("kill", 3.5, 1)]


def test_what_is_drawn_hangs_on_the_seed_and_stays_within_its_spans() -> None:
    storm = menu(choice(KILL, (1, 2)), choice(PAUSE, 1.5, weight=3), every=(3, 5), name="storm")
    once = told(storm, seconds=300)
    assert once == told(storm, seconds=300)
    assert once != [
        (one.fault.name(), round(one.at, 3), one.lasting)
        for one in simulate(schedule(storm, seed="8/w", seconds=300)).faults
    ]
    gaps = [two[1] - one[1] for one, two in pairwise(once)]
    assert all(2.99 <= gap <= 5.01 for gap in gaps)
    assert 3 <= once[0][1] <= 5
    assert {(kind, lasting) for kind, _, lasting in once if kind == "pause"} == {("pause", 1.5)}
    assert all(1 <= lasting <= 2 for kind, _, lasting in once if kind == "kill")
    share = sum(kind == "pause" for kind, _, _ in once) / len(once)
    assert 0.55 < share < 0.95


def test_other_entries_do_not_change_what_a_named_menu_draws() -> None:
    storm = menu(choice(CUT, (1, 2)), every=(3, 5), name="storm", at_most_down=3)
    alone = told(storm, seconds=60)
    beside = told(at(1).for_(1).do(PAUSE), storm, seconds=60)
    assert [one for one in beside if one[0] == "partition"] == alone


def test_a_step_without_an_end_is_told_up_to_a_number() -> None:
    found = simulate(schedule(every(4).for_(1).do(PAUSE)), each=5)
    assert len(found.faults) == 5
    assert found.cut
    assert not simulate(schedule(at(1).for_(1).do(PAUSE))).cut


# Conditions


def look_at(
    view_: TopologyView | None, entry: ScheduleEntry, *, first: TopologyView | None = None, acked: int = 0
) -> bool:
    """Whether an entry begins at the second look."""
    executor = Executor(schedule(entry))
    assert executor.look(0.0, view=first) == ()
    return bool(executor.look(1.0, view=view_, acked=acked))


def test_a_condition_on_the_isr_goes_by_the_leaders_word() -> None:
    entry = after(isr_below(3)).for_(1).do(KILL)
    shrunk = view(seen(1, state(isr=(1, 2))), seen(2, state()), seen(3, state()))
    stale = view(seen(1, state()), seen(2, state(isr=(1, 2))), seen(3, state()))
    assert look_at(shrunk, entry)
    assert not look_at(stale, entry)
    assert not look_at(quiet(), entry)
    assert not look_at(None, entry)
    assert not look_at(shrunk, after(isr_below(2, partition=0)).for_(1).do(KILL))


def test_a_condition_on_the_leader_compares_with_the_steps_beginning() -> None:
    entry = after(leader_moved(0)).for_(1).do(KILL)
    moved = view(seen(2, state(leader=2, epoch=1)), seen(3, state()))
    headless = view(seen(2, state(leader=-1, epoch=1)))
    assert look_at(moved, entry, first=quiet())
    assert not look_at(quiet(), entry, first=quiet())
    assert not look_at(headless, entry, first=quiet())
    assert not look_at(moved, entry, first=None)


def test_a_condition_on_acknowledgements() -> None:
    entry = after(acked(1000)).for_(1).do(KILL)
    assert look_at(None, entry, acked=1000)
    assert not look_at(None, entry, acked=999)


def test_a_condition_that_does_not_come_is_given_up_once() -> None:
    executor = Executor(schedule(after(isr_below(2), within=3).for_(1).do(KILL), seconds=10))
    executor.run(9)
    ((seconds, given_up),) = executor.log
    assert isinstance(given_up, GiveUp)
    assert seconds == pytest.approx(3)
    assert "within 3 s it was not seen that the ISR of any partition has fewer than 2 members" in given_up.why
    assert describe_unmet(executor.schedule, executor.state) == ()


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        (at(8).for_(1).do(KILL), "faults[0] (kill) never began: the step ended before it was due"),
        (after(acked(9)).for_(1).do(KILL), "it was not seen that 9 records are acknowledged"),
        (at(0).do(sequence(for_(9).do(KILL), for_(1).do(KILL))), "the fault before it was not healed"),
        (every(2, times=9).for_(1).do(KILL), "began 2 of 9 times"),
        (menu(choice(KILL, 1), every=(8, 9)), "never began"),
    ],
)
def test_what_was_asked_for_and_did_not_come_is_told(entry: ScheduleEntry, says: str) -> None:
    executor = Executor(schedule(entry)).run(5)
    (what,) = describe_unmet(executor.schedule, executor.state)
    assert says in what


def test_a_menu_may_be_cut_short_by_the_end() -> None:
    executor = Executor(schedule(menu(choice(KILL, 1), every=2))).run(5)
    assert len(executor.starts()) == 2
    assert describe_unmet(executor.schedule, executor.state) == ()


# What becomes of faults


def test_nothing_begins_after_the_end_and_what_is_open_is_healed() -> None:
    executor = Executor(schedule(at(1).for_(5).do(KILL), at(3).for_(1).do(PAUSE)))
    executor.run(2)
    for seconds in (3.0, 5.0, 6.0, 7.0):
        executor.look(seconds, ended=True)
    assert [one.fault.name() for one in executor.starts()] == ["kill"]
    assert executor.heals() == [Occurrence(0, 0)]
    assert not executor.state.busy
    assert len(describe_unmet(executor.schedule, executor.state)) == 1


def test_a_fault_is_not_healed_before_its_proof_has_ended() -> None:
    executor = Executor(schedule(at(1).for_(1).do(KILL)), slow={Occurrence(0, 0): (4.0, 0.0)}).run(6)
    ((seconds, _),) = [entry for entry in executor.log if isinstance(entry[1], HealDecision)]
    assert seconds == pytest.approx(5, abs=0.06)


def test_a_rhythm_waits_for_the_heal_before_and_counts_on_from_there() -> None:
    executor = Executor(schedule(every(5, first=0).for_(2).do(KILL)), slow={Occurrence(0, 0): (0.0, 6.0)})
    executor.run(19)
    assert [round(one.at) for one in executor.starts()] == [0, 8, 13, 18]
    assert [round(one.due) for one in executor.starts()] == [0, 5, 13, 18]


def test_what_was_put_off_is_tried_again_as_the_same_fault() -> None:
    storm = menu(choice(KILL, (1, 3)), choice(PAUSE, (1, 3)), every=3, times=1)
    executor = Executor(schedule(storm), put_off={Occurrence(0, 0)}).run(9)
    first, second = executor.starts()
    assert second.at == pytest.approx(first.at + 0.55, abs=0.06)
    assert (first.occurrence, first.fault, first.lasting, first.due) == (
        second.occurrence,
        second.fault,
        second.lasting,
        second.due,
    )
    assert executor.heals() == [Occurrence(0, 0)]


def test_what_failed_counts_as_down_and_holds_up_nothing_else() -> None:
    executor = Executor(schedule(at(1).for_(1).do(KILL), at(2).for_(1).do(PAUSE), at_most_down=1))
    executor.run(1.5)
    executor.phases[Occurrence(0, 0)] = FaultState.FAILED
    executor.pending.clear()
    executor.look(1.6)
    assert not executor.state.busy
    executor.look(3.0)
    assert len(executor.starts()) == 1


def test_brokers_down_since_before_the_step_count() -> None:
    executor = Executor(schedule(at(1).for_(1).do(KILL), at_most_down=1), down_before=1).run(3)
    assert executor.starts() == []
    (what,) = describe_unmet(executor.schedule, executor.state)
    assert "waited for other faults" in what


def test_what_had_to_wait_begins_in_the_extra_time_and_what_is_repeated_does_not() -> None:
    entries = at(1).for_(5).do(KILL), at(2).for_(1).do(KILL), every(3, first=1).for_(0.5).do(Elect())
    planned = schedule(*entries, at_most_down=1, seconds=4.5, extra=10)
    executor = Executor(planned).run(6)
    assert unfinished(planned, executor.state)
    executor.run(8.5)
    begun = [(one.occurrence.track, round(one.at)) for one in executor.starts()]
    assert begun == [(0, 1), (2, 1), (2, 4), (1, 6)], "the third election would be due at 7"
    assert not unfinished(planned, executor.state)
    assert describe_unmet(planned, executor.state) == ()
    too_long = schedule(at(1).for_(50).do(KILL), entries[1], at_most_down=1, seconds=4.5, extra=10)
    executor = Executor(too_long).run(60)
    assert [one.occurrence.track for one in executor.starts()] == [0]
    assert unfinished(too_long, executor.state)


def test_what_is_still_due_or_put_off_is_not_finished() -> None:
    planned = schedule(at(1).for_(1).do(KILL), seconds=4, extra=1)
    executor = Executor(planned, put_off={Occurrence(0, 0)})
    executor.look(0.5)
    assert unfinished(planned, executor.state)
    executor.look(1.0)
    executor.look(1.1)
    assert executor.state.waiting
    assert unfinished(planned, executor.state)


# Whatever the entries, the clock and the executor

SPANS = st.tuples(st.integers(1, 30), st.integers(0, 30)).map(lambda pair: (pair[0] / 10, sum(pair) / 10))
FAULTS: st.SearchStrategy[Kill | Pause | Partition] = st.sampled_from(
    [KILL, PAUSE, CUT, Kill(target=BrokerId(broker=3))]
)
TENTHS = st.integers(0, 80).map(lambda tenths: tenths / 10)
LASTING = st.integers(1, 30).map(lambda tenths: tenths / 10)


@st.composite
def entries(draw: st.DrawFn) -> ScheduleEntry:
    kind = draw(st.sampled_from(["at", "every", "sequence", "together", "random"]))
    if kind == "at":
        return at(draw(TENTHS)).for_(draw(LASTING)).do(draw(FAULTS))  # type: ignore[no-any-return]
    if kind == "every":
        gap = draw(LASTING) + 0.5
        lasting = min(draw(LASTING), gap - 0.1)
        return (  # type: ignore[no-any-return]
            every(gap, first=draw(TENTHS), times=draw(st.integers(1, 4))).for_(lasting).do(draw(FAULTS))
        )
    if kind == "random":
        choices = draw(st.lists(st.builds(choice, FAULTS, SPANS), min_size=1, max_size=3))
        return menu(
            *choices,
            every=draw(SPANS),
            times=draw(st.integers(1, 5)),
            at_once=draw(st.integers(1, 3)),
            at_most_down=draw(st.integers(1, 3)),
        )
    parts = [for_(draw(LASTING)).do(draw(FAULTS)) for _ in range(draw(st.integers(1, 3)))]
    group = sequence(*parts, pause=draw(TENTHS) / 10) if kind == "sequence" else together(*parts)
    return at(draw(TENTHS)).do(group)  # type: ignore[no-any-return]


LISTS = st.lists(entries(), min_size=1, max_size=4)
LIMITS = st.one_of(st.none(), st.integers(1, 3))
SLOW = st.dictionaries(
    st.builds(Occurrence, st.integers(0, 5), st.integers(0, 4)),
    st.tuples(TENTHS, TENTHS),
    max_size=8,
)
STEPS = st.lists(st.one_of(st.just(0.05), st.floats(0.001, 400)), min_size=1, max_size=80)


def fits(entries: list[ScheduleEntry], limit: int | None) -> Schedule:
    """A schedule whose limit lets every single fault begin."""
    made = schedule(*entries, at_most_down=limit)
    needed = max(pick.fault.max_brokers_down(SHAPE) for track in made.tracks for pick in track.picks)
    if made.at_most_down is None or made.at_most_down >= needed:
        return made
    return Schedule(made.tracks, made.seed, SHAPE, None, needed)


@fuzzed(60)
@given(LISTS, LIMITS, SLOW, STEPS)
def test_limits_hold_and_nothing_is_lost_or_doubled_at_any_pace(
    entries: list[ScheduleEntry],
    limit: int | None,
    slow: dict[Occurrence, tuple[float, float]],
    steps: list[float],
) -> None:
    executor = Executor(fits(entries, limit), slow=slow)
    seconds = 0.0
    for step in [*steps, *[50.0] * 400]:
        executor.look(seconds)
        seconds += step
    begun = [one.occurrence for one in executor.starts()]
    assert len(begun) == len(set(begun))
    assert sorted(executor.heals()) == sorted(begun)
    assert not executor.open
    wanted = {
        Occurrence(number, count)
        for number, track in enumerate(executor.schedule.tracks)
        for count in range((track.begin.times or 1) if isinstance(track.begin, Repeating) else 1)
    }
    assert set(begun) == wanted
    assert describe_unmet(executor.schedule, executor.state) == ()
    if executor.schedule.at_most_down is not None:
        assert executor.most_down <= executor.schedule.at_most_down
    for index, (_, decision) in enumerate(executor.log):
        if isinstance(decision, HealDecision):
            earlier = [one.occurrence for _, one in executor.log[:index] if isinstance(one, Start)]
            assert decision.occurrence in earlier


@fuzzed(50)
@given(LISTS, LIMITS, SLOW, STEPS)
def test_the_same_seed_clock_and_fates_give_the_same_decisions(
    entries: list[ScheduleEntry],
    limit: int | None,
    slow: dict[Occurrence, tuple[float, float]],
    steps: list[float],
) -> None:
    logs = []
    for _ in range(2):
        executor = Executor(fits(entries, limit), slow=slow)
        seconds = 0.0
        for step in steps:
            executor.look(seconds)
            seconds += step
        logs.append(executor.log)
    assert logs[0] == logs[1]


@fuzzed(50)
@given(LISTS, LIMITS)
def test_what_is_foreseen_is_what_happens_when_injection_is_prompt(
    entries: list[ScheduleEntry], limit: int | None
) -> None:
    made = fits(entries, limit)
    foreseen = simulate(made)
    executor = Executor(made)
    # The clock stops wherever the plan says that something happens, and in between.
    ends = [one.at + one.lasting for one in foreseen.faults]
    begins = [one.at for one in foreseen.faults]
    for seconds in sorted({*begins, *ends, *(number / 4 for number in range(800))}):
        while executor.look(seconds):
            pass
    assert [(one.occurrence, one.fault, one.lasting, one.at) for one in executor.starts()] == [
        (one.occurrence, one.fault, one.lasting, one.at) for one in foreseen.faults
    ]
    assert executor.most_down == foreseen.most_down


@given(st.integers(0, 10_000_000), st.floats(0, 0.000999))
def test_journaled_times_are_rounded_down_once(milliseconds: int, more: float) -> None:
    assert to_the_millisecond(milliseconds / 1000) == milliseconds / 1000
    rounded = to_the_millisecond(milliseconds / 1000 + more)
    assert to_the_millisecond(rounded) == rounded
    assert abs(rounded - milliseconds / 1000) < 0.0011


def test_an_entry_is_a_timed_fault_as_before() -> None:
    entry = at(2).for_(3).do(KILL)
    assert isinstance(entry, TimedFault)
    assert (entry.at, entry.lasting, entry.fault) == (2, 3, KILL)
