"""Reads experiment files, and says exactly what is wrong with a bad one."""

from __future__ import annotations

import difflib
import json
from importlib import resources
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from harness.experiment import Experiment
from harness.model.errors import BadInput

_SUFFIXES = (".yaml", ".yml", ".json")
"""JSON is YAML too: the experiment.json in a results folder runs again."""


def builtin_names() -> tuple[str, ...]:
    """Names of the experiments that come with kafka-chaos."""
    folder = resources.files("harness") / "experiments"
    return tuple(sorted(Path(entry.name).stem for entry in folder.iterdir() if entry.name.endswith(".yaml")))


def builtin_text(name: str) -> str:
    """The YAML text of a built-in experiment."""
    return (resources.files("harness") / "experiments" / f"{name}.yaml").read_text()


def load(name_or_path: str) -> Experiment:
    """A built-in experiment by its name, or an experiment file by its path.

    Raises:
        BadInput: no such experiment, not YAML, or not an experiment: names the place in the file.
    """
    if name_or_path in builtin_names():
        return parse(builtin_text(name_or_path), f"built-in experiment {name_or_path}")
    path = Path(name_or_path)
    if path.suffix not in _SUFFIXES:
        close = difflib.get_close_matches(name_or_path, builtin_names(), n=1)
        raise BadInput(
            f"no experiment is called {name_or_path!r}",
            expected=f"one of {', '.join(builtin_names())}, or a file ending in {', '.join(_SUFFIXES)}",
            next_step=f"did you mean {close[0]}?" if close else "`kafka-chaos init` writes an example file",
        )
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(
            "the experiment file cannot be read",
            where=str(path),
            found=str(error),
            next_step="`kafka-chaos init` writes an example file",
        ) from error
    return parse(text, str(path))


def parse(text: str, source: str) -> Experiment:
    """An experiment from YAML text; `source` names it in messages.

    Raises:
        BadInput: not YAML, or not an experiment.
    """
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{source}, line {mark.line + 1}, column {mark.column + 1}" if mark else source
        raise BadInput(
            "this is not YAML",
            where=place,
            found=str(getattr(error, "problem", error)),
            next_step="correct the line; `kafka-chaos init` writes a file that can be read",
        ) from error
    if not isinstance(data, dict):
        raise BadInput(
            "this is not an experiment",
            where=source,
            expected="a mapping with name, title, steps and arms",
            found=type(data).__name__,
            next_step="`kafka-chaos init` writes an example file",
        )
    try:
        return Experiment.model_validate(data)
    except ValidationError as error:
        raise _explained(error, source) from error


def _explained(error: ValidationError, source: str) -> BadInput:
    # A misspelt key also leaves its right name missing: the misspelling is what to show.
    problems = sorted(error.errors(), key=lambda problem: problem["type"] != "extra_forbidden")
    first = problems[0]
    place = ".".join(str(part) for part in first["loc"]) or "the whole file"
    others = error.error_count() - 1
    more = f" (and {others} more problem{'s' if others > 1 else ''})" if others else ""
    if first["type"] == "extra_forbidden":
        name = str(first["loc"][-1])
        close = difflib.get_close_matches(name, _all_keys(), n=1)
        return BadInput(
            f"unknown key {name!r}{more}",
            where=f"{source}: {place}",
            expected=f"did you mean {close[0]!r}?" if close else "a key that the schema has",
            next_step="`kafka-chaos schema` prints every key with its meaning",
        )
    return BadInput(
        f"the experiment is not valid{more}",
        where=f"{source}: {place}",
        expected=str(first["msg"]).removeprefix("Value error, "),
        found=_shortened(first.get("input")),
        next_step="`kafka-chaos schema` prints every key with its meaning",
    )


def _shortened(value: Any) -> str | None:
    if isinstance(value, (dict, BaseModel)):
        return None
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _all_keys() -> list[str]:
    """Every property name anywhere in the schema."""
    keys: set[str] = set()

    def walk(node: Any) -> None:
        if isinstance(node, dict):
            properties = node.get("properties")
            if isinstance(properties, dict):
                keys.update(properties)
            for child in node.values():
                walk(child)
        elif isinstance(node, list):
            for child in node:
                walk(child)

    walk(schema())
    return sorted(keys)


def schema() -> dict[str, Any]:
    """JSON schema (2020-12) of experiment files."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **Experiment.model_json_schema(by_alias=True),
    }


def schema_text() -> str:
    return json.dumps(schema(), indent=2) + "\n"
