"""Delete records: the oldest records of partitions are deleted, as an operator requests."""

from __future__ import annotations

import math
from typing import Literal

from pydantic import Field, model_validator

from faults.shared.fault_spec import Evidence, Injection, InjectionContext, TopicEffect
from faults.shared.partition_fault import PartitionFault
from faults.shared.waiting import MeasuredInjection
from faults.shared.words import shortened
from harness.model.errors import FaultError


class RecordsDeleted(MeasuredInjection, Injection):
    """The records of partitions were deleted below an offset each: `below` holds (partition, offset)."""

    proof_seconds = 15.0
    proof_pause = 0.25

    below: tuple[tuple[int, int], ...]
    leaders: tuple[int, ...]

    @property
    def nodes(self) -> tuple[int, ...]:
        return self.leaders

    @property
    def target(self) -> str:
        return "records of " + ", ".join(
            shortened([f"partition {number} below offset {offset}" for number, offset in self.below])
        )

    @property
    def on_topic(self) -> TopicEffect:
        return TopicEffect(deleted_below=dict(self.below))

    def apply(self, context: InjectionContext) -> None:
        context.cluster.delete_records(context.topic, dict(self.below))

    def measure(self, context: InjectionContext) -> Evidence:
        view = context.cluster.view((context.topic,))
        starts = {
            number: {
                broker: state.log_start_offset
                for broker, state in view.states(context.topic, number).items()
                if state.log_start_offset is not None
            }
            for number, _ in self.below
        }
        facts: dict[str, object] = {"log_start_offsets": starts}
        for number, offset in self.below:
            if not starts[number]:
                return Evidence(False, f"no replica of partition {number} answers", facts)
            for broker, start in starts[number].items():
                if start < offset:
                    what = f"partition {number} still begins at offset {start} on broker {broker}"
                    return Evidence(False, what, facts)
        words = shortened([f"partition {number} begins at offset {offset}" for number, offset in self.below])
        return Evidence(True, f"{', '.join(words)}, on every replica that answers", facts)

    def undo(self, context: InjectionContext) -> None:
        """A deletion cannot be undone."""

    def healed(self, context: InjectionContext) -> Evidence:  # noqa: ARG002
        return Evidence(True, "nothing to undo: what was deleted stays deleted")


class DeleteOldRecords(PartitionFault):
    """The oldest records of a partition are deleted while clients run, as `kafka-delete-records.sh` does
    (KIP-107): those below offset `before`, or the `share` of those that are there. The step of this name does
    the same between two other steps.

    What Kafka does: the leader raises the partition's log start offset, at most to the high watermark, and
    answers when the live replicas have raised theirs; followers learn of it with their next fetch. Segment
    files go later. A reader whose position is below gets OFFSET_OUT_OF_RANGE and is reset as its
    `auto.offset.reset` says: `earliest` goes on at the new log start offset, `latest` at the end, so that it
    skips what is left, and with `none` the client reports an error. Of a topic that is compacted only, the
    leader refuses (POLICY_VIOLATION).

    The check counts what was acknowledged and is deleted as `expired`, never as `lost`; a record that was not
    below these offsets is lost if it is missing. A reader that passed over deleted records has skipped
    nothing.

    Proof: the log of every replica that answers begins at this offset or later.
    """

    kind: Literal["delete_records"] = "delete_records"
    injection = RecordsDeleted
    leaves = {"the log start offset: what was deleted stays deleted": ()}

    before: int | None = Field(
        default=None, ge=1, description="offset below which records are deleted; default: by `share`"
    )
    share: float | None = Field(
        default=None, gt=0, le=1, description="share of the present records, oldest first; default: 0.5"
    )

    @model_validator(mode="after")
    def _check_one(self) -> DeleteOldRecords:
        if self.before is not None and self.share is not None:
            raise ValueError("`before` and `share` exclude each other: leave one of them out")
        return self

    def aim(self, context: InjectionContext) -> RecordsDeleted:
        snapshot = context.snapshot()
        states = self.chosen(snapshot)
        below, leaders = [], set()
        for state in states:
            own = snapshot.view.states(context.topic, state.partition).get(state.leader)
            if own is None or own.high_watermark is None:
                continue
            start, end = own.log_start_offset or 0, own.high_watermark
            share = 0.5 if self.share is None else self.share
            offset = (
                start + math.ceil(share * (end - start)) if self.before is None else min(self.before, end)
            )
            if offset > start:
                below.append((state.partition, offset))
                leaders.add(state.leader)
        if not below:
            raise FaultError(
                "there are no records to delete",
                where=context.topic if self.partition is None else f"{context.topic}-{self.partition}",
                expected="a leader that answers, with records below the high watermark"
                + (f" and below offset {self.before}" if self.before is not None else ""),
                found=", ".join(
                    f"partition {state.partition}: leader {state.leader}, log start offset "
                    f"{state.log_start_offset}, log end offset {state.log_end_offset}"
                    for state in states[:3]
                ),
                next_step="inject the fault when there are, or raise `before`",
            )
        return RecordsDeleted(below=tuple(below), leaders=tuple(sorted(leaders)))
