"""Plans told beforehand, faults found with their places, and journals turned into schedules again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from faults import Kill
from faults.schedules.decide import simulate
from faults.schedules.entries import TimedFault
from faults.schedules.state import Schedule
from faults.targets import NodeIds
from harness.cluster.containers import docker_engine
from harness.model.errors import BadInput, JournalError
from harness.model.journal import FAULTS, FAULTS_FILE, SAMPLES, SAMPLES_DIR
from harness.model.run import ClusterInfo, ImageInfo, RunMeta, StepInfo
from harness.run.replay import replay, replay_run, with_named_nodes
from harness.spec.experiment import Experiment
from harness.spec.experiment_files import load, parse
from harness.spec.fault_index import located_faults, without_faults
from harness.spec.run_plan import lines, plan_of
from harness.spec.steps import Write
from tests.support.command_line import call
from workloads.records.journal.row_journal import TableFile

pytestmark = pytest.mark.pure

MINE = """
name: mine
title: t
steps:
  - inject: {partition: {from: {leader: 0}, to: {followers: 0}}, if_impossible: skip}
  - heal:
  - wait: {isr: 3}
  - write:
      name: w
      seconds: 20
      faults:
        - {fault: {kill: {target: {leader: 0}}}, at: 2, for: 3, name: first}
        - random:
            menu:
              - {fault: {pause: {target: {random: 1}}}, for: [1, 2], if_impossible: skip}
              - {fault: {kill: {target: {leader: 1}}}, for: 1}
            every: [4, 6]
          name: storm
        - sequence:
            - {fault: {pause: {target: {broker: 2}}}, for: 1, if_impossible: skip}
            - together: [{fault: {kill: {target: controller}}, for: 1}]
          after: {isr_below: 3, partition: 0}
          within: 10
          pause: 1
  - sleep: {seconds: 1}
arms:
  - name: a
"""


def mine(**changes: str) -> Experiment:
    text = MINE
    for old, new in changes.items():
        text = text.replace(old, new)
    return parse(text, "mine.yaml")


def write_of(experiment: Experiment, index: int) -> Write:
    action = experiment.steps[index].action
    assert isinstance(action, Write)
    return action


# Plans


def test_a_plan_tells_every_step() -> None:
    told = "\n".join(lines(plan_of(mine(), 7)))
    assert "plan of mine, seed 7: 3 broker(s), 1 controller(s); 3 partition(s) of 3 replica(s)" in told
    assert "step 0: inject" in told
    assert "partition from leader: 0, to followers: 0" in told
    assert "step 1: heal everything" in told
    assert "step 2: wait until the ISR has 3 members, 30 s at most" in told
    assert "step 3: write w, for 20 s, never more than 1 broker(s) down" in told
    assert "when the ISR of partition 0 has fewer than 3 members (within 10 s)" in told
    assert "1 s after faults[2].sequence[0] is healed" in told
    assert "kill controller" in told
    assert "step 4: sleep 1 s" in told
    assert "brokers down at most: 1" in told


def test_a_plan_names_the_arms_without_faults() -> None:
    text = list(lines(plan_of(load("mirrormaker-killed"), 1)))
    assert [line for line in text if "without faults" in line] == ["arm no-fault: without faults"]


def test_the_plan_is_what_the_schedule_of_that_seed_foresees() -> None:
    experiment = mine()
    plan = plan_of(experiment, 7)
    schedule = Schedule.of(write_of(experiment, 3).faults, "7/w", experiment.shape, seconds=20)
    foreseen = [(one.at, (one.lasting, one.lasting)) for one in simulate(schedule).faults]
    assert [(one.at, one.lasting) for one in plan.steps[3].faults if one.at is not None] == foreseen
    assert plan == plan_of(experiment, 7)
    assert plan.steps[3] != plan_of(experiment, 8).steps[3]


def test_the_command_needs_no_cluster(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(docker_engine, "connect", lambda: pytest.fail("the engine was asked"))
    path = tmp_path / "mine.yaml"
    path.write_text(MINE)
    assert call(monkeypatch, "plan", str(path), "--seed", "7") == 0
    assert capsys.readouterr().out.splitlines() == list(lines(plan_of(mine(), 7)))
    assert call(monkeypatch, "plan", str(path), "--seed", "7", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["steps"][3]["faults"][0]["fault"] == "kill leader: 0"
    assert call(monkeypatch, "plan", "kill-leadr") == 2


# Bad input, with its place

KILL_1 = "{kill: {target: {broker: 1}}}"


@pytest.mark.parametrize(
    ("entries", "place", "says"),
    [
        ("{fault: {kil: {target: {leader: 0}}}, at: 1, for: 2}", ".fault", "did you mean 'kill'?"),
        ("{fault: {kill: {target: {leeder: 0}}}, at: 1, for: 2}", ".fault.kill.target", "mean 'leader'?"),
        (f"{{fault: {KILL_1}, at: -1, for: 2}}", ".at", "greater than or equal to 0"),
        (f"{{fault: {KILL_1}, at: 1}}", ".for", "the key has no default"),
        (f"{{fault: {KILL_1}, for: 1}}", "", "exactly one of `at`, `every`, `after`"),
        (f"{{falt: {KILL_1}, at: 1, for: 1}}", ".falt", "did you mean 'fault'?"),
        (f"{{fault: {KILL_1}, every: 1, for: 3}}", "", "must be shorter than `every`"),
        (f"{{fault: {KILL_1}, every: 9, for: 3, times: 9}}", "", "the last of 9 comes at 81 s"),
        (f"{{fault: {KILL_1}, every: 25, for: 3}}", "", "a fault at 25 s never comes"),
        (f"{{fault: {KILL_1}, every: 5, until: 4, for: 3}}", "", "`until` is 4 s"),
        (f"{{fault: {KILL_1}, at: 20, for: 3}}", "", "a fault at 20 s never comes"),
        ("{fault: {kill: {target: {leader: 7}}}, at: 1, for: 2}", ".fault", "partitions 0 to 2"),
        ("{fault: {kill: {target: {broker: 7}}}, at: 1, for: 2}", ".fault", "the brokers are 1 to 3"),
        ("{fault: {kill: {target: client}}, at: 1, for: 2}", ".fault", "client's process cannot be affected"),
        ("{random: {menu: [], every: 3}}", ".random.menu", "at least 1 item"),
        (f"{{random: {{menu: [{{fault: {KILL_1}, for: 1, weight: 0}}], every: 3}}}}", ".weight", "than 0"),
        (
            f"{{random: {{menu: [{{fault: {KILL_1}, for: [2, 1]}}], every: 3}}}}",
            ".for",
            "smaller number comes first",
        ),
        (f"{{random: {{menu: [{{fault: {KILL_1}, for: 1}}], every: 30}}}}", "", "never comes"),
        (
            f"{{random: {{menu: [{{fault: {KILL_1}, for: 1}}], every: 3, at_most_down: 0}}}}",
            ".random.menu[0].fault",
            "with at_most_down 0 it never begins",
        ),
        (f"{{fault: {KILL_1}, after: {{isr_below: 4}}, for: 3}}", ".after", "replication_factor is 3"),
        (f"{{fault: {KILL_1}, after: {{leader_moved: 3}}, for: 3}}", ".after", "no partition 3"),
        (f"{{fault: {KILL_1}, after: {{healed: x}}, for: 3}}", ".after", "no entry has the name 'x'"),
        (f"{{fault: {KILL_1}, after: {{healed: x}}, for: 3, name: x}}", ".after", "neither begins"),
        (f"{{sequence: [{{fault: {KILL_1}, at: 1, for: 3}}]}}", ".sequence[0].at", "unknown key 'at'"),
        ("{sequence: [{fault: {kill: {target: {leeder: 0}}}, for: 3}]}", ".sequence[0].fault", "'leader'?"),
        (
            f"{{sequence: [{{fault: {KILL_1}, for: 15}}, {{fault: {KILL_1}, for: 1}}], at: 6}}",
            ".sequence[1]",
            "it cannot begin before 21 s",
        ),
        ("3", "", "exactly one key"),
    ],
)
def test_a_bad_entry_is_refused_with_its_place(entries: str, place: str, says: str) -> None:
    text = (
        f"name: m\ntitle: t\nsteps:\n- write:\n    name: w\n    seconds: 20\n    faults:\n    - {entries}\n"
    )
    with pytest.raises(BadInput) as caught:
        parse(text + "arms: [{name: a}]\n", "my.yaml")
    told = str(caught.value)
    assert "my.yaml, line 8: steps[0].write.faults[0]" in told
    assert place in told
    assert says in told


@pytest.mark.parametrize(
    ("first", "second", "contradict"),
    [
        ("{broker: 1}}}, at: 1, for: 5", "{broker: 1}}}, at: 3, for: 1", True),
        ("{broker: 1}}}, at: 1, for: 2", "{broker: 1}}}, at: 3, for: 1", False),
        ("{broker: 1}}}, at: 1, for: 5", "{broker: 2}}}, at: 3, for: 1", False),
        ("all}}, at: 1, for: 5", "{leader: 0}}}, at: 3, for: 1", True),
        ("{leader: 0}}}, at: 1, for: 5", "{leader: 0}}}, at: 1, for: 1", True),
        # By then another broker leads.
        ("{leader: 0}}}, at: 1, for: 9", "{leader: 0}}}, at: 8, for: 1", False),
        ("{broker: 1}}}, every: 4, for: 1", "{broker: 1}}}, at: 12.5, for: 1", True),
        ("{broker: 1}}}, every: 4, for: 1", "{broker: 1}}}, at: 13.5, for: 1", False),
    ],
)
def test_two_faults_on_one_process_at_one_time_contradict(first: str, second: str, contradict: bool) -> None:
    text = (
        "name: m\ntitle: t\nsteps:\n- write:\n    name: w\n    seconds: 20\n    faults:\n"
        f"    - {{fault: {{kill: {{target: {first}}}\n    - {{fault: {{pause: {{target: {second}}}\n"
        "arms: [{name: a}]\n"
    )
    if not contradict:
        parse(text, "my.yaml")
        return
    with pytest.raises(BadInput, match="contradicts the kill at faults\\[0\\]") as caught:
        parse(text, "my.yaml")
    assert "my.yaml, line 9: steps[0].write.faults[1]" in str(caught.value)


def test_what_an_inject_step_has_left_open_counts() -> None:
    start = "name: m\ntitle: t\narms: [{name: a}]\nsteps:\n- inject: {kill: {target: {broker: 1}}}\n"
    write = (
        "- write: {name: w, seconds: 9, at_most_down: 1, faults: [{fault: {pause: {target: {broker: %d}}}, "
    )
    write += "at: 1, for: 1}]}\n"
    with pytest.raises(BadInput, match=r"1 down since steps\[0\]\.inject"):
        parse(start + write % 2, "my.yaml")
    with pytest.raises(BadInput, match=r"contradicts the kill at steps\[0\]\.inject"):
        parse(start + (write % 1).replace("at_most_down: 1", "at_most_down: 2"), "my.yaml")
    parse(start + "- heal:\n" + write % 1, "my.yaml")
    with pytest.raises(BadInput, match=r"line 5: steps\[0\]\.inject") as caught:
        parse((start + write % 2).replace("broker: 1", "broker: 9"), "my.yaml")
    assert "the brokers are 1 to 3" in str(caught.value)


# Every fault with its place


def test_every_fault_is_found_with_its_place() -> None:
    assert [(one.where, one.fault.name(), one.if_impossible) for one in located_faults(mine())] == [
        ("steps[0].inject", "partition", "skip"),
        ("steps[3].write.faults[0].fault", "kill", "refuse"),
        ("steps[3].write.faults[1].random.menu[0].fault", "pause", "skip"),
        ("steps[3].write.faults[1].random.menu[1].fault", "kill", "refuse"),
        ("steps[3].write.faults[2].sequence[0].fault", "pause", "skip"),
        ("steps[3].write.faults[2].sequence[1].together[0].fault", "kill", "refuse"),
    ]


def test_what_is_skipped_is_gone_and_nothing_else() -> None:
    everything = list(located_faults(mine()))
    left = without_faults(mine(), {one.where for one in everything if one.if_impossible == "skip"})
    assert [one.fault.name() for one in located_faults(left)] == ["kill", "kill", "kill"]
    assert [type(step.action).__name__ for step in left.steps] == ["Heal", "Wait", "Write", "Sleep"]
    empty = without_faults(mine(), {one.where for one in everything})
    assert write_of(empty, 2).faults == ()
    assert without_faults(mine(), ()) == mine()


def test_what_waits_for_a_skipped_entry_is_refused() -> None:
    experiment = mine(**{"{isr_below: 3, partition: 0}": "{healed: first}"})
    with pytest.raises(BadInput, match="no entry has the name 'first'"):
        without_faults(experiment, {"steps[3].write.faults[0].fault"})


# Replays

STEPS = ("inject-0", "heal-1", "wait-2", "w", "sleep-4")
SECOND = 10**9


def saved_run(folder: Path, *, steps: tuple[str, ...] = STEPS, experiment: str = "mine") -> Path:
    """A run's folder: each step took 100 s; what happened is `happened`."""
    RunMeta(
        run_id=1,
        experiment=experiment,
        arm="a",
        seed=7,
        topic="t",
        partitions=3,
        replication_factor=3,
        topic_config={},
        producer_config={},
        acks="all",
        idempotent=True,
        promise={},
        cluster=ClusterInfo(
            brokers=3,
            controllers=1,
            combined=False,
            profile="fast",
            properties={},
            image=ImageInfo(reference="r", digest="d", origin="built", kafka_version="4"),
            start_seconds=1,
        ),
        versions={},
        started_ns=0,
        steps=tuple(
            StepInfo(
                index=index,
                name=name,
                kind=name.split("-")[0],
                started_ns=index * 100 * SECOND,
                ended_ns=(index + 1) * 100 * SECOND - 1,
            )
            for index, name in enumerate(steps)
        ),
    ).save(folder)
    with TableFile(folder / FAULTS_FILE, FAULTS) as rows:
        for seconds, name, phase, detail in happened():
            rows.append(
                {
                    "at_ns": int(seconds * SECOND),
                    "fault": name,
                    "kind": name.split("-")[0],
                    "phase": phase,
                    "target": "",
                    "detail": json.dumps(detail),
                }
            )
    return folder


def happened() -> list[tuple[float, str, str, dict[str, Any]]]:
    leader, followers = {"leader": 0}, {"followers": 0}
    cut = {"spec": {"kind": "partition", "from": leader, "to": followers}}
    sides = [{"target": leader, "nodes": [2]}, {"target": followers, "nodes": [1, 3]}]
    kill = {"spec": {"kind": "kill", "target": leader}, "entry": "faults[0]", "at": 2.013, "due": 2, "for": 3}
    pause = {"spec": {"kind": "pause", "target": {"random": 1}}, "entry": "faults[1]", "at": 9.5, "for": 1.25}
    return [
        (1.0, "partition-1", "decided", cut),
        (1.1, "partition-1", "aimed", {"nodes": [1, 2, 3], "injection": {}, "chosen": sides}),
        (1.2, "partition-1", "injected", {}),
        (100.5, "partition-1", "undone", {}),
        (302.02, "kill-1", "decided", kill),
        (302.1, "kill-1", "aimed", {"chosen": [{"target": leader, "nodes": [1]}]}),
        (305.1, "kill-1", "undone", {}),
        (305.9, "pause-1", "decided", pause),
        (306.0, "pause-1", "aimed", {"chosen": [{"target": {"random": 1}, "nodes": [1]}]}),
        (306.0, "pause-1", "put-off", {}),
        (309.5, "pause-2", "decided", pause),
        (309.6, "pause-2", "aimed", {"chosen": [{"target": {"random": 1}, "nodes": [3]}]}),
        (312.0, "pause-2", "undone", {}),
    ]


def test_a_replay_has_the_times_and_nodes_of_the_run(tmp_path: Path) -> None:
    again = replay(mine(), saved_run(tmp_path))
    inject = again.steps[0].inject
    assert inject is not None
    assert [target.model_dump() for target in inject.fault.targets()] == [{"nodes": (2,)}, {"nodes": (1, 3)}]
    write = write_of(again, 3)
    assert write.at_most_down == 1
    first, second = write.faults
    assert isinstance(first, TimedFault)
    assert isinstance(second, TimedFault)
    assert first.fault == Kill(target=NodeIds(nodes=(1,)))
    assert (first.at, first.lasting, first.name) == (2.013, 3, "kill-1")
    assert (second.at, second.lasting, second.name) == (9.5, 1.25, "pause-2")
    # Time for the last one, should heals take longer.
    assert write.seconds == 9.5 + 15
    assert again.arms == mine().arms
    # What is saved with the replay's results runs again.
    assert Experiment.model_validate_json(again.model_dump_json(by_alias=True)) == again
    assert parse(yaml.safe_dump(json.loads(again.model_dump_json(by_alias=True))), "again") == again


def started_by_the_run(producers: int = 3) -> Experiment:
    workload = {
        "client": "own",
        "producers": producers,
        "own": {"command": ["python", "shop.py", "{producer}", "sasl.password=hidden"]},
    }
    changed = mine().model_dump(by_alias=True) | {"workload": workload}
    return Experiment.model_validate(changed)


def test_a_replay_starts_the_programs_that_the_run_started(tmp_path: Path) -> None:
    again = replay(started_by_the_run(), saved_run(tmp_path))
    assert again.workload == started_by_the_run().workload


@pytest.mark.parametrize(("producers", "times"), [(1, ""), (3, ", once for each of 3 producers")])
def test_a_plan_names_the_program_that_the_run_starts(producers: int, times: str) -> None:
    text = "\n".join(lines(plan_of(started_by_the_run(producers), 1)))
    assert f"program of arm a: python shop.py '{{producer}}' 'sasl.password=***'{times}\n" in text
    assert "program of" not in "\n".join(lines(plan_of(mine(), 1)))


def sampled(folder: Path, *rows: tuple[str, int, int | None, list[int]]) -> None:
    samples = TableFile(folder / SAMPLES_DIR / "part-0.parquet", SAMPLES)
    for at, (topic, partition, leader, isr) in enumerate(rows):
        row = dict.fromkeys(SAMPLES.names) | {"at_ns": at, "broker": 1, "answered": True}
        samples.append(row | {"topic": topic, "partition": partition, "leader": leader, "isr": isr})
    samples.close()


def test_a_replays_partitions_begin_where_the_runs_did(tmp_path: Path) -> None:
    run = saved_run(tmp_path)
    (run / SAMPLES_DIR).mkdir()
    sampled(
        run,
        ("another", 0, 1, [1, 2, 3]),
        ("t", 0, 2, [2, 3]),  # a replica is missing: what came later
        ("t", 0, 2, [3, 2, 1]),
        ("t", 0, 1, [1, 2, 3]),  # moved by then
        ("t", 1, 3, [3, 1, 2]),
        ("t", 2, None, [1, 2, 3]),
        ("t", 2, 1, [1, 3, 2]),
    )
    again = replay(mine(), run)
    assert again.topic.assignment == ((2, 3, 1), (3, 1, 2), (1, 3, 2))
    given = mine().model_copy(
        update={"topic": mine().topic.model_copy(update={"assignment": ((1, 2, 3),) * 3})}
    )
    assert replay(given, run).topic.assignment == ((1, 2, 3),) * 3


@pytest.mark.parametrize("content", [None, b"PAR1 and no more"])
def test_a_replay_without_samples_is_a_replay(tmp_path: Path, content: bytes | None) -> None:
    run = saved_run(tmp_path)
    (run / SAMPLES_DIR).mkdir()
    if content is None:
        sampled(run, ("t", 0, 2, [2, 3, 1]))
    else:
        (run / SAMPLES_DIR / "part-0.parquet").write_bytes(content)
    assert replay(mine(), run).topic.assignment is None


def test_a_replay_takes_the_runs_seed_and_arm_unless_told_otherwise(tmp_path: Path) -> None:
    saved_run(tmp_path)
    _, seed, arms = replay_run([mine()], tmp_path, None, None)
    assert (seed, arms) == (7, ["a"])
    _, seed, arms = replay_run([mine()], tmp_path, 9, ["b"])
    assert (seed, arms) == (9, ["b"])
    with pytest.raises(BadInput, match="repeats one run"):
        replay_run([mine(), mine()], tmp_path, None, None)


def test_a_run_of_drive_and_rival_steps_can_be_replayed(tmp_path: Path) -> None:
    text = (
        "{name: mine, title: t, arms: [{name: a}], workload: {client: driven, driven: {transactional: true}},"
        " steps: [{drive: {name: d, do: [begin, commit]}}, {rival: {name: r}}]}"
    )
    made = parse(text, "x.yaml")
    assert replay(made, saved_run(tmp_path, steps=("d", "r"))).steps == made.steps


def test_another_run_is_refused(tmp_path: Path) -> None:
    saved_run(tmp_path, experiment="other")
    with pytest.raises(BadInput, match="not one of this experiment"):
        replay(mine(), tmp_path)
    saved_run(tmp_path, steps=STEPS[:3])
    with pytest.raises(BadInput, match="did not reach the last step"):
        replay(mine(), tmp_path)
    with pytest.raises(BadInput, match="not one of this experiment"):
        replay(load("kill-leader"), tmp_path)


def test_a_journal_that_cannot_be_read_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(JournalError):
        replay(mine(), tmp_path)
    saved_run(tmp_path)
    (tmp_path / FAULTS_FILE).write_bytes(b"PAR1")
    with pytest.raises(JournalError, match="journal of faults cannot be read"):
        replay(mine(), tmp_path)
    assert call(monkeypatch, "run", "kill-leader", "--replay", str(tmp_path / "nowhere")) == 3
    assert "this is not a run folder" in capsys.readouterr().err


def test_targets_inside_targets_are_pinned() -> None:
    chosen = [{"target": {"any": [{"leader": 0}, {"broker": 2}]}, "nodes": [1, 2]}]
    spec = {"kind": "ring", "sides": [{"any": [{"leader": 0}, {"broker": 2}]}, {"broker": 3}], "n": 1}
    assert with_named_nodes(spec, chosen) == {
        "kind": "ring",
        "sides": [{"nodes": [1, 2]}, {"broker": 3}],
        "n": 1,
    }
