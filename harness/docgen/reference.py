"""The reference pages that come from code: commands, experiment files, the Python interface.

The site is built by MkDocs from docs/ (`make site`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import typer.main

from harness.docgen import files, public_face
from harness.spec.experiment import Experiment

_FOLDER = files.DOCS / "reference"
_COMMANDS = """# Commands

Made from the commands' own help (`kafka-chaos COMMAND --help`).
"""
_FILES = """# Experiment files

Made from the models that read them; `kafka-chaos schema` prints the same as JSON schema, which editors use to
complete and check. `kafka-chaos init` writes a file with comments. Faults have
[pages of their own](../faults/README.md), and so have [targets](../faults/targets.md).
"""
_FIRST = ("ClusterSpec", "TopicSpec", "WorkloadSpec", "ProducerSettings", "ReaderSpec", "Arm")


def pages() -> dict[str, str]:
    """Every page's text by its name below docs/reference."""
    return {
        "cli.md": "\n".join(_commands()),
        "experiment-files.md": "\n".join(_experiment()),
        "python.md": public_face.page(),
    }


def drifted() -> list[str]:
    """Names of pages that are missing, differ, or are leftovers."""
    return files.drifted(pages(), _FOLDER)


def write() -> list[str]:
    """Write the pages that have drifted and remove leftovers; returns the names."""
    return files.write(pages(), _FOLDER)


def _commands() -> Iterator[str]:
    from harness.cli.app import app

    yield _COMMANDS
    group = typer.main.get_command(app)
    for name, command in sorted(group.commands.items()):  # type: ignore[attr-defined]
        if command.hidden:
            continue
        yield f"## {name}\n"
        yield f"{_prose(command.help or '')}\n"
        shown = [parameter for parameter in command.params if not getattr(parameter, "hidden", False)]
        if not shown:
            continue
        yield "| argument or option | meaning | default |\n|---|---|---|"
        for parameter in shown:
            yield _row(_named(parameter), getattr(parameter, "help", None) or "", _default(parameter))
        yield ""


def _named(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return f"`{parameter.name.upper()}{'...' if parameter.nargs == -1 else ''}`"
    return ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))


def _default(parameter: Any) -> str:
    found = parameter.default
    if parameter.required or found is None or found is False or callable(found) or found in ((), []):
        return ""
    return f"`{found}`"


def _prose(text: str) -> str:
    """Paragraphs on one line each; Typer marks kept line breaks with a backspace character."""
    return "\n\n".join(" ".join(part.replace("\b", "").split()) for part in text.split("\n\n"))


def _experiment() -> Iterator[str]:
    schema = Experiment.model_json_schema()
    known: dict[str, Any] = schema["$defs"]
    yield _FILES
    yield "## The file\n"
    yield from _model(schema, known)
    from harness.catalog.faults import fault_specs

    faults = {spec.__name__ for spec in fault_specs().values()}
    others = sorted(name for name in known if name not in _FIRST and name not in faults)
    for name in (*(name for name in _FIRST if name in known), *others):
        if known[name].get("properties") or known[name].get("enum"):
            yield f"## {name}\n"
            yield from _model(known[name], known)


def _model(model: dict[str, Any], known: dict[str, Any]) -> Iterator[str]:
    if model.get("description"):
        yield f"{_prose(model['description'])}\n"
    if "enum" in model:
        yield f"One of {', '.join(f'`{value}`' for value in model['enum'])}.\n"
        return
    required = set(model.get("required", ()))
    yield "| key | type | default | meaning |\n|---|---|---|---|"
    for key, field in model["properties"].items():
        default = "required" if key in required else _short(field["default"]) if "default" in field else ""
        yield _row(f"`{key}`", _type(field, known), default, field.get("description", ""))
    yield ""


def _short(value: Any) -> str:
    text = json.dumps(value)
    return f"`{text}`" if len(text) <= 60 else "see below"


def _type(field: dict[str, Any], known: dict[str, Any]) -> str:
    """A JSON schema's type in words, with links to the models on the page."""
    if "$ref" in field:
        name = field["$ref"].rpartition("/")[2]
        on_page = known[name].get("properties") or known[name].get("enum")
        return f"[{name}](#{name.lower()})" if on_page else name
    for several in ("anyOf", "oneOf"):
        if several in field:
            kinds = list(dict.fromkeys(_type(one, known) for one in field[several]))
            return " or ".join(kinds) if len(kinds) <= 8 else f"one of {len(kinds)} kinds"
    if "const" in field:
        return f"`{json.dumps(field['const'])}`"
    if "enum" in field:
        return " or ".join(f"`{json.dumps(value)}`" for value in field["enum"])
    if field.get("type") == "array":
        return f"list of {_type(field.get('items', {}), known)}"
    if field.get("type") == "object":
        more = field.get("additionalProperties")
        return f"mapping to {_type(more, known)}" if isinstance(more, dict) else "mapping"
    kind = field.get("type", "anything")
    return " or ".join(kind) if isinstance(kind, list) else str(kind)


def _row(*cells: str) -> str:
    clean = (" ".join(cell.split()).replace("|", "\\|") for cell in cells)
    return f"| {' | '.join(clean)} |"
