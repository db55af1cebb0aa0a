"""The step in which a rival of a producer begins, as data."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from faults.schedules.entries import NAME
from harness.model.frozen import Frozen


class Rival(Frozen):
    """A second producer begins with the transactional.id of a first one, which has a transaction open: as
    when a program is started in place of one that was taken for dead and is only slow (a zombie, KIP-98).

    Producer `of` begins a transaction, sends `records` and waits for their reports. Then the rival is
    initialised, which makes the coordinator abort that transaction and fence `of`; it sends `records` in
    transactions of its own. Then `of` sends `records` more in its transaction and asks to commit it. It must
    be refused; once it is, it sends no more. From then on the rival is one of the producers: write steps
    divide their records among it and the others, and drive steps name it by this `name`.

    With `transactional_id: own` the rival has another transactional.id: a control, in which both go on. The
    step needs transactions: `client: librdkafka` with `transactions` or `client: driven` with
    `transactional: true`.
    """

    name: str = Field(pattern=NAME)
    of: int = Field(
        0, ge=0, description="a producer's number in the journals; drive steps name them in this order"
    )
    records: int = Field(50, ge=1, le=100_000)
    transactional_id: Literal["same", "own"] = "same"

    def __str__(self) -> str:
        named = "its" if self.transactional_id == "same" else "another"
        amount = f"{self.records:,} record{'s' if self.records > 1 else ''}"
        return (
            f"rival {self.name}: producer {self.of} sends {amount} in a transaction, a second one with "
            f"{named} transactional.id begins and sends as many, producer {self.of} sends as many again and "
            "commits"
        )
