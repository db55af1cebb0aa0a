"""The base of models that are values."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """An immutable model. Unknown fields are refused; a field with an alias can also be set by its name."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)
