"""The story of a run shows what the journals hold."""

from __future__ import annotations

import pytest

from harness.lab.suite.expect_records import acks_curve
from harness.lab.suite.narrative import story
from harness.spec.experiment_files import parse
from harness.spec.run_plan import plan_of
from tests.support.builders.finished_runs import FinishedRunFolder, at

pytestmark = pytest.mark.pure

TWO_STEPS = parse(
    """
name: x
title: A cut
topic: {assignment: [[1, 2, 3]]}
steps:
- write: {name: together, records: 2}
- write: {name: alone, records: 1}
arms: [{name: a}]
""",
    "x.yaml",
)


def a_cut(folder: FinishedRunFolder) -> FinishedRunFolder:
    together = folder.step("together", 0, 1)
    for seq in range(2):
        folder.send(together, seq, closed_ns=at(0.5))
    folder.fault("partition-1", "decided", 2.0)
    folder.fault("partition-1", "injected", 2.2)
    alone = folder.step("alone", 3, 4)
    folder.send(alone, 2, closed_ns=at(9))
    for seconds, end in ((1.1, 2), (3.9, 2), (4.1, 3)):
        folder.sample(seconds, 1, [1, 2], broker=1, log_end_offset=end, high_watermark=2)
        folder.sample(seconds, 1, [1, 2], broker=2, log_end_offset=2)
    return folder


def test_a_row_is_the_state_after_something_had_happened(folder: FinishedRunFolder) -> None:
    lines = story(a_cut(folder).finished(), TWO_STEPS)
    assert lines[0].split()[:3] == ["s", "what", "happened"]
    together, cut, alone = (" ".join(line.split()) for line in lines[1:4])
    assert together == "1.0 together: 2 acked LEO 2 HW 2 leads, epoch 0 LEO 2 1,2"
    # Nothing was sampled soon after the cut: the last state before it is shown.
    assert cut == "2.2 k: LEO 2 HW 2 leads, epoch 0 LEO 2 1,2"
    assert alone == "4.0 alone: 1 still open LEO 3 HW 2 leads, epoch 0 LEO 2 1,2"


def test_a_state_that_a_fault_has_changed_is_not_that_before_it(folder: FinishedRunFolder) -> None:
    # Sampled within half a second after the step, and after the cut was decided on.
    folder.fault("partition-1", "decided", 1.05)
    lines = story(a_cut(folder).finished(), TWO_STEPS)
    assert "LEO" not in lines[1]


def test_records_are_named_by_their_write_step_and_epoch(folder: FinishedRunFolder) -> None:
    a_cut(folder)
    folder.answer("dead", "files", 1, 3, detail={
        "records": [[0, 0, 0], [1, 0, 1], [2, 0, 2], [3, 0, 77]], "epochs": [[0, 0], [4, 2]],
    })  # fmt: skip
    folder.answer("dead", "checkpoint", 1, 2)
    for broker in (1, 2):
        for offset in range(2):
            folder.replica(broker, offset, offset)
    folder.read(0, 0)
    folder.read(1, 1, epoch=3)
    lines = story(folder.finished(), TWO_STEPS)
    assert lines[lines.index("") + 1 :] == (
        "dead, replication-offset-checkpoint: broker 1: 2",
        "dead, files of broker 1: 0-1 together (epoch 0); 2 alone (epoch 4); 3 ? (epoch 4)",
        "at the end, files of broker 1: 0-1 together (epoch 0)",
        "at the end, files of broker 2: 0-1 together (epoch 0)",
        "at the end, final read: 0 together (epoch 0); 1 together (epoch 3)",
    )


def test_a_run_without_samples_has_no_story(folder: FinishedRunFolder) -> None:
    folder.step("together", 0, 1)
    assert story(folder.finished(), TWO_STEPS) == ()


def test_acknowledgements_a_second(folder: FinishedRunFolder) -> None:
    step = folder.step("together", 0, 2)
    for seq, closed in enumerate((0.1, 0.2, 0.6)):
        folder.send(step, seq, closed_ns=at(closed))
    folder.send(step, 3, outcome="indeterminate", closed_ns=at(0.3))
    run = folder.finished()
    assert acks_curve(run, "together") == ((0.0, 8.0), (0.25, 0.0), (0.5, 4.0))
    assert acks_curve(run, "other") == ()


def test_waits_and_asks_are_worded_as_the_story_expects_of_the_plan() -> None:
    """The story turns `wait until X, 5 s at most` into `seen: X`, and `ask X for Y` into `asked X`."""
    steps = parse(
        """
name: x
title: A wait and an ask
steps:
- write: {name: some, records: 1}
- wait: {isr: 3, within: 5}
- ask: {name: end, of: {broker: 1}, what: [files]}
arms: [{name: a}]
""",
        "x.yaml",
    )
    _, wait, ask = (step.what for step in plan_of(steps, 0).steps)
    assert wait == "wait until the ISR has 3 members, 5 s at most"
    assert ask.partition(" for ")[0] == "ask broker: 1"
