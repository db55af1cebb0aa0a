"""Steps that change the topic itself, as an administrator would."""

from __future__ import annotations

from pydantic import Field

from harness.model.frozen import Frozen


class DeleteRecords(Frozen):
    """Delete the records below offset `before` of every partition, as `kafka-delete-records.sh` does
    (KIP-107): retention overtakes whoever reads slowly, at a known place. They count as `expired`."""

    before: int = Field(ge=1, description="the new log start offset, or the end of a shorter partition")


class RecreateTopic(Frozen):
    """Delete the topic, and create it again with the same settings. What was acknowledged before counts as
    `expired`. Readers' and applications' offsets outlive it, as they do when people do this."""
