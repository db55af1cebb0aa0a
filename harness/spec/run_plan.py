"""Predicts what an experiment will do, without a cluster (`kafka-chaos plan`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from faults.schedules.brokers_down import Begun, most_brokers_down
from faults.schedules.decide import Simulation, simulate
from faults.schedules.state import Schedule, Start
from faults.schedules.tracks import Following, Track, WhenTrue
from faults.shared.fault_spec import FaultSpec
from faults.targets.target_context import ClusterShape
from harness.spec.experiment import Experiment
from harness.spec.fault_index import down_before, open_before, schedule_seed
from harness.spec.steps import Inject, Write


@dataclass(frozen=True, slots=True)
class PlannedFault:
    """One fault of a step. `at` is in seconds after the step began (None: when a condition becomes true);
    `sure`: exactly then, else then or later. `lasting` is (minimum, maximum) in seconds (None: until a heal
    step); `down` is the largest number of brokers that it takes down."""

    entry: str
    name: str | None
    at: float | None
    sure: bool
    when: str
    lasting: tuple[float, float] | None
    fault: str
    down: int
    expect: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """One step. `most_down` is the largest number of brokers down at once; `cut`: there are more repeated
    faults than are listed."""

    index: int
    what: str
    faults: tuple[PlannedFault, ...]
    most_down: int
    cut: bool = False


@dataclass(frozen=True, slots=True)
class RunPlan:
    """What will happen with one seed."""

    experiment: str
    seed: int
    cluster: str
    steps: tuple[PlannedStep, ...]
    most_down: int
    applications: tuple[str, ...] = ()
    """The application under test of each arm that has one, in words."""
    programs: tuple[str, ...] = ()
    """The program with the producers of each arm for which the run starts one, in words."""
    without_faults: tuple[str, ...] = ()
    """The arms that run without faults."""


def plan_of(experiment: Experiment, seed: int) -> RunPlan:
    """The plan of an experiment: fixed times, random choices of the seed, conditions in words."""
    steps = tuple(_step(experiment, index, seed) for index in range(len(experiment.steps)))
    shape = experiment.shape
    controllers = "combined" if shape.combined else f"{shape.controllers} controller(s)"
    controllers = "existing" if shape.own_ids else controllers
    return RunPlan(
        experiment=experiment.name,
        seed=seed,
        cluster=f"{shape.brokers} broker(s), {controllers}; "
        f"{shape.partitions} partition(s) of {shape.replication_factor} replica(s)"
        + ("; a proxy before each node" if experiment.cluster.proxy else "")
        + ("; all arms in one run, a topic each" if experiment.together else ""),
        steps=steps,
        most_down=max(step.most_down for step in steps),
        applications=tuple(
            f"arm {arm.name}: {words}"
            for arm in experiment.arms
            if (words := experiment.application_in_words(arm)) is not None
        ),
        programs=tuple(
            f"arm {arm.name}: {words}"
            for arm in experiment.arms
            if (words := experiment.workload_of(arm).program_in_words) is not None
        ),
        without_faults=tuple(arm.name for arm in experiment.arms if arm.without_faults),
    )


def describe_fault(fault: FaultSpec) -> str:
    """A fault in words: `kill leader: 0`, `partition from leader: 0, to followers: 0`."""
    parts = []
    for name, field in type(fault).model_fields.items():
        value = getattr(fault, name)
        if isinstance(value, dict):
            value = "{" + ", ".join(f"{key}: {entry}" for key, entry in value.items()) + "}"
        if name != "kind" and value != field.default:
            parts.append(str(value) if name == "target" else f"{field.alias or name} {value}")
    return " ".join([fault.name(), ", ".join(parts)]).strip()


def lines(plan: RunPlan) -> Iterator[str]:
    """A plan as text."""
    yield f"plan of {plan.experiment}, seed {plan.seed}: {plan.cluster}"
    yield from (f"application of {application}" for application in plan.applications)
    yield from (f"program of {program}" for program in plan.programs)
    yield from (f"arm {arm}: without faults" for arm in plan.without_faults)
    for step in plan.steps:
        yield ""
        yield f"step {step.index}: {step.what}"
        rows = [
            (fault.when, _span(fault.lasting), fault.fault, fault.name or fault.entry)
            for fault in step.faults
        ]
        widths = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
        for row in rows:
            cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
            yield f"  {cells[0]}  {cells[1]}  {cells[2]}  {row[3]}"
        if step.cut:
            yield "  ... and so on until the step ends"
        for sentence in dict.fromkeys(
            f"{fault.fault}: {what}" for fault in step.faults for what in fault.expect
        ):
            yield f"  expect: {sentence}"
    yield ""
    if any(fault.at is not None and not fault.sure for step in plan.steps for fault in step.faults):
        yield "or later: it begins when the fault that it waits for has been verified as healed"
    yield f"brokers down at most: {plan.most_down}"


def _span(lasting: tuple[float, float] | None) -> str:
    if lasting is None:
        return "until healed"
    least, most = lasting
    return f"for {least:g} s" if least == most else f"for {least:g} to {most:g} s"


def _step(experiment: Experiment, index: int, seed: int) -> PlannedStep:
    action = experiment.steps[index].action
    opened = open_before(experiment, index)
    if isinstance(action, Write):
        return _write(experiment, index, action, seed, opened)
    if isinstance(action, Inject):
        effects = _effects(action.fault, experiment.shape)
        here = PlannedFault(f"steps[{index}].inject", None, 0.0, True, "now", None, *effects)
        # The one that is injected here is the last of those that are open before the next step.
        most = most_brokers_down(open_before(experiment, index + 1), experiment.shape)
        return PlannedStep(index, "inject", (here,), most)
    return PlannedStep(index, str(action), (), most_brokers_down(opened, experiment.shape))


def _write(
    experiment: Experiment, index: int, write: Write, seed: int, opened: Sequence[Begun]
) -> PlannedStep:
    shape = experiment.shape
    schedule = Schedule.of(
        write.faults, schedule_seed(seed, write), shape, seconds=write.ends, at_most_down=write.at_most_down
    )
    simulation = simulate(schedule, down_before=down_before(experiment, index), open_before=opened)
    planned = [_simulated_fault(schedule, fault) for fault in simulation.faults]
    simulated = {fault.occurrence.track for fault in simulation.faults}
    conditional = [track for number, track in enumerate(schedule.tracks) if number not in simulated]
    planned += [_conditional_fault(schedule, track) for track in conditional]
    amount = f"{write.records:,} records" if write.records is not None else f"for {write.seconds:g} s"
    if write.at_most is not None:
        amount += f", {write.at_most:g} s at most"
    if write.until_faults_end is not None:
        amount += f", up to {write.until_faults_end:g} s more until its faults have ended"
    if schedule.at_most_down is not None:
        amount += f", never more than {schedule.at_most_down} broker(s) down"
    most = _most_down(schedule, simulation, conditional)
    return PlannedStep(index, f"write {write.name}, {amount}", tuple(planned), most, simulation.cut)


def _most_down(schedule: Schedule, simulation: Simulation, conditional: list[Track]) -> int:
    shape = schedule.shape
    more = sum(max(pick.fault.max_brokers_down(shape) for pick in track.picks) for track in conditional)
    limits = [limit for limit in (schedule.at_most_down, shape.brokers) if limit is not None]
    return min(simulation.most_down + more, *limits)


def _simulated_fault(schedule: Schedule, one: Start) -> PlannedFault:
    track = schedule.tracks[one.occurrence.track]
    # One that waits for others may begin later, since heals take time.
    sure = one.at <= one.due and not isinstance(track.begin, Following | WhenTrue)
    when = f"at {one.at:.3f} s" + ("" if sure else " or later")
    span, effects = (one.lasting, one.lasting), _effects(one.fault, schedule.shape)
    return PlannedFault(track.where, _name(track), one.at, sure, when, span, *effects)


def _conditional_fault(schedule: Schedule, track: Track) -> PlannedFault:
    """A fault that depends on what the brokers or the workload do."""
    how, pick = track.begin, track.picks[0]
    when = "when room is left"
    if isinstance(how, WhenTrue):
        when = f"when {how.condition}" + (f" (within {how.within:g} s)" if how.within else "")
    elif isinstance(how, Following):
        before = ", ".join(schedule.tracks[number].where for number in how.tracks)
        when = (f"{how.pause:g} s after" if how.pause else "when") + f" {before} is healed"
    effects = _effects(pick.fault, schedule.shape)
    return PlannedFault(track.where, _name(track), None, False, when, pick.lasting, *effects)


def _name(track: Track) -> str | None:
    return track.names[-1] if track.names else None


def _effects(fault: FaultSpec, shape: ClusterShape) -> tuple[str, int, tuple[str, ...]]:
    """The last three parts of a `PlannedFault`."""
    return describe_fault(fault), fault.max_brokers_down(shape), fault.warnings(shape)
