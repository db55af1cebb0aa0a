"""An option of a built-in application, as its description declares it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, create_model

from harness.model.frozen import Frozen, Setting


class Option(Frozen):
    """What `options` of an experiment may hold under the option's name. An option without a default may be
    left out, and is null then."""

    type: Literal["text", "integer", "integers", "boolean", "settings"] = "text"
    help: str
    default: Any = None
    choices: tuple[str, ...] = Field(default=(), description="of a text: all that it may be")
    pattern: str | None = Field(default=None, description="of a text: what it looks like")
    least: int | None = Field(default=None, description="of integers")
    refused: dict[str, str] = Field(default_factory=dict, description="choices that are refused, and why")

    @property
    def annotation(self) -> Any:
        """The type of its values for pydantic."""
        integer = Annotated[int, Field(ge=self.least)]
        text = Literal[self.choices] if self.choices else Annotated[str, Field(pattern=self.pattern)]
        found: Any = {
            "text": Annotated[text, AfterValidator(self._not_refused)],
            "integer": integer,
            "integers": Annotated[tuple[integer, ...], Field(min_length=1)],
            "boolean": bool,
            "settings": dict[str, Setting],
        }[self.type]
        return found if self.default is not None else found | None

    def _not_refused(self, value: str) -> str:
        if value in self.refused:
            raise ValueError(self.refused[value])
        return value


def options_model(options: Mapping[str, Option]) -> type[Frozen]:
    """A model with these options as its fields."""
    fields: dict[str, Any] = {
        name: (one.annotation, Field(default=one.default, validate_default=True, description=one.help))
        for name, one in options.items()
    }
    return create_model("Options", __base__=Frozen, **fields)
