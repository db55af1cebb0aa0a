"""Expectations as files write them: `- acked: {step: after, count: 20}`.

Every public function of the modules `expect_*` that returns an expectation has its name here. The value is a
mapping of the function's arguments, or the first argument alone; `- valid:` has none. `given` makes the
expectation below it a precondition.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

from pydantic import AfterValidator, BeforeValidator, create_model, model_validator

from harness.lab.suite import expect_answers, expect_brokers, expect_groups, expect_records, expect_verdicts
from harness.lab.suite.expectations import Expectation, precondition
from harness.model.frozen import Frozen

_MODULES = (expect_verdicts, expect_records, expect_brokers, expect_answers, expect_groups)


def _expectations_of(module: ModuleType) -> Iterator[tuple[str, Callable[..., Expectation]]]:
    for name, function in vars(module).items():
        here = inspect.isfunction(function) and function.__module__ == module.__name__
        if here and not name.startswith("_") and get_type_hints(function)["return"] is Expectation:
            yield name, function


EXPECTATIONS = {name: function for module in _MODULES for name, function in _expectations_of(module)}
"""The function of each expectation that files may name."""


class _Written(Frozen):
    """An expectation as a file writes it: exactly one of the keys."""

    @model_validator(mode="before")
    @classmethod
    def _one_key(cls, value: Any) -> Any:
        if isinstance(value, dict) and len(value) != 1:
            names = ", ".join(map(str, value)) or "none"
            raise ValueError(f"an expectation has one name, and this has {names}")
        return value

    def made(self) -> Expectation:
        """The expectation itself."""
        (name,) = self.model_fields_set
        arguments = getattr(self, name)
        if name == "given":
            return precondition(arguments.made())
        return EXPECTATIONS[name](**{key: getattr(arguments, key) for key in type(arguments).model_fields})


def _field(name: str, function: Callable[..., Expectation]) -> Any:
    """A field that holds the arguments of a function."""
    hints = get_type_hints(function, include_extras=True)
    parameters = inspect.signature(function).parameters.values()
    types: dict[str, Any] = {
        parameter.name: (
            hints[parameter.name],
            ... if parameter.default is parameter.empty else parameter.default,
        )
        for parameter in parameters
    }
    model: Any = create_model(name, __base__=Frozen, __doc__=function.__doc__, **types)
    first = next(iter(types), None)

    def by_name(value: Any) -> Any:
        if value is None:
            # YAML reads `- valid:` as null.
            return {}
        return value if isinstance(value, dict) or first is None else {first: value}

    shapes = model | hints[first] if first else model
    shapes = shapes if any(default is ... for _, default in types.values()) else shapes | None
    return Annotated[model, BeforeValidator(by_name, json_schema_input_type=shapes)], None


_FIELDS: dict[str, Any] = {name: _field(name, function) for name, function in EXPECTATIONS.items()}
_Plain = create_model("Given", __base__=_Written, **_FIELDS)
_Any = create_model("Expectation", __base__=_Plain, given=(_Plain, None))

if TYPE_CHECKING:
    WrittenExpectation = Expectation
else:
    WrittenExpectation = Annotated[_Any, AfterValidator(lambda written: written.made())]
    """An expectation that a file writes."""
