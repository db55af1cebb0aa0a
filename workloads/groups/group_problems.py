"""What is wrong with the steps about consumer groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from faults.schedules.problems import Problem
from harness.spec.step import Step
from workloads.records.config.reader_spec import ReaderSpec


def restart_problems(steps: Sequence[Step], arms: Mapping[str, Sequence[ReaderSpec]]) -> Iterator[Problem]:
    """Steps that restart a reader which an arm does not have, or whose clients cannot be killed; `arms`
    are the readers by the arm's name."""
    for number, restart in enumerate(step.restart_reader for step in steps):
        if restart is None:
            continue
        where = f"steps[{number}].restart_reader"
        for arm, readers in arms.items():
            restarted = {reader.name: reader for reader in readers}.get(restart.reader)
            if restarted is None:
                yield Problem(f"{where}.reader", f"arm {arm!r} has no reader {restart.reader!r}")
            elif restart.crash and not restarted.apart:
                yield Problem(
                    f"{where}.crash",
                    f"a crash needs a reader whose clients have their own processes: set `process: true` "
                    f"for reader {restart.reader!r}",
                )


def commit_problems(steps: Sequence[Step], partitions: int) -> Iterator[Problem]:
    """Steps that commit or ask for offsets of a partition that the topic does not have, or through the broker
    of a later step."""
    earlier: set[str] = set()
    for number, step in enumerate(steps):
        commit = step.commit_offsets
        where = f"steps[{number}].ask_offsets.of"
        for name in () if step.ask_offsets is None else step.ask_offsets.of:
            if name not in earlier:
                yield Problem(where, f"no earlier step commits offsets as {name!r}")
        if commit is None:
            continue
        where = f"steps[{number}].commit_offsets"
        if commit.partition >= partitions:
            yield Problem(f"{where}.partition", f"the topic has partitions 0 to {partitions - 1}")
        for key in ("same_as", "other_than"):
            name = getattr(commit, key)
            if name is not None and name not in earlier:
                yield Problem(f"{where}.{key}", f"no earlier step commits offsets as {name!r}")
        if commit.name in earlier:
            yield Problem(f"{where}.name", f"two such steps are named {commit.name!r}")
        earlier.add(commit.name)
