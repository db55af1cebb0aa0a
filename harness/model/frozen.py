"""The base of models that are values: frozen, and without fields that nobody defined."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

if TYPE_CHECKING:
    pass


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
