"""The promises of single settings about records, as `guarantees.yaml` states them."""

from __future__ import annotations

from functools import cache
from importlib import resources

import yaml
from pydantic import TypeAdapter

from harness.model.frozen import Frozen


class Guarantee(Frozen):
    """A setting's promise; `by_value` has more exact ones for values in lower case."""

    says: str
    source: str
    by_value: dict[str, str] = {}


@cache
def guarantees() -> dict[str, Guarantee]:
    """The promises by the setting's name."""
    text = (resources.files("harness.audit") / "guarantees.yaml").read_text()
    return TypeAdapter(dict[str, Guarantee]).validate_python(yaml.safe_load(text))
