"""The step that changes a share group, as data."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from faults.schedules.entries import NAME
from harness.model.frozen import Frozen


class AlterShareGroup(Frozen):
    """Change a share group as an administrator does, while the run goes on. The check still judges it by its
    settings in `share`, so that this shows what its findings look like.

    `start` moves the group's start offset in every partition. Kafka allows this only while the group has no
    members, so they are closed first and new ones are started after it. `lock` (seconds) and `delivery_limit`
    apply to records that are acquired from then on.
    """

    group: str = Field(pattern=NAME, description="its name in `share`")
    start: Literal["earliest", "latest"] | Annotated[int, Field(ge=0)] | None = None
    lock: float | None = Field(None, ge=1, le=3600, description="seconds")
    delivery_limit: int | None = Field(None, ge=1, le=100)

    @model_validator(mode="after")
    def _something(self) -> Self:
        if self.start is None and self.lock is None and self.delivery_limit is None:
            raise ValueError("say what changes: `start`, `lock` or `delivery_limit`")
        return self

    def __str__(self) -> str:
        return "alter_share_group"
