"""The step that initialises a transactional.id, as data."""

from __future__ import annotations

from pydantic import Field

from faults.schedules.entries import NAME
from harness.model.frozen import Frozen

LAST_EPOCH = 32_766
"""The last epoch that a producer gets (KIP-98)."""


class InitProducerId(Frozen):
    """Initialise the transactional.id of producer `of`, as a second producer does when it begins, or an
    administrator who fences producers (Admin.fenceProducers, KIP-691): the coordinator aborts its open
    transaction and raises its epoch, so that `of` is fenced.

    The step ends with the first answer that does not ask to try again, an error or not, or after `within`
    seconds. The answer is stored (`answers/` in the run folder): the question is `init_producer_id`, the
    number the new epoch.

    With `epoch: N` it is repeated with the id and the epoch of the last answer, which raises the epoch by one
    (KIP-360), until the next one is N: a producer `of` that a later step is the first to name begins with
    epoch N. The step needs `client: driven` with
    `transactional: true`, and Kafka 2.7 or later.
    """

    name: str = Field(pattern=NAME)
    of: str = Field(pattern=NAME, description="name of a producer of drive steps")
    epoch: int | None = Field(None, ge=1, le=LAST_EPOCH, description="with which `of` begins")
    within: float | None = Field(None, gt=0, description="seconds; default: 30, with `epoch` 600")

    @property
    def seconds(self) -> float:
        """How long it may take."""
        return self.within or (30.0 if self.epoch is None else 600.0)

    def __str__(self) -> str:
        until = "" if self.epoch is None else f" until it begins with epoch {self.epoch:,}"
        return f"initialise the transactional.id of {self.of}{until}, {self.seconds:g} s at most"
