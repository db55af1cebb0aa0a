"""The reference pages that come from code: commands, experiment files, the Python interface.

The site is built by MkDocs from docs/ (`make site`).
"""

from __future__ import annotations

import inspect
import json
from typing import Any

import typer.main

import kafka_chaos
from harness.docgen import files
from harness.model.journal import SendOutcome, TxnOutcome
from harness.page.markdown import cell
from harness.spec.experiment import Experiment

FOLDER, SUFFIXES = files.DOCS / "reference", ()
_FIRST = ("ClusterSpec", "TopicSpec", "WorkloadSpec", "ProducerSettings", "ReaderSpec", "Arm")
"""Models that come first on the page; all others follow in alphabetical order."""


def pages() -> dict[str, str]:
    """Every page's text by its name below docs/reference."""
    texts = {
        "cli.md": _commands(),
        "experiment-files.md": _experiment_files(),
        "expectations.md": _expectations(),
        "python.md": _python(),
    }
    return {name: text.rstrip() + "\n" for name, text in texts.items()}


def _commands() -> str:
    from harness.cli.app import app
    from harness.cli.commands import COMMANDS

    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    return files.render(
        "cli.md.j2",
        commands=[(name, command) for name, command in sorted(commands.items()) if not command.hidden],
        prose=_prose,
        example=lambda name: COMMANDS[name].example,
        one_line=_one_line,
        spelling=_spelling,
        default=_default,
    )


def _spelling(parameter: Any) -> str:
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


def _experiment_files() -> str:
    from harness.spec.fault_index import fault_specs

    schema = Experiment.model_json_schema()
    known: dict[str, Any] = schema["$defs"]
    faults = {spec.__name__ for spec in fault_specs().values()}
    others = sorted(name for name in known if name not in _FIRST and name not in faults)
    shown = [name for name in (*_FIRST, *others) if _is_on_page(known.get(name, {}))]
    return files.render(
        "experiment-files.md.j2",
        models=[("The file", schema), *((name, known[name]) for name in shown)],
        prose=_prose,
        one_line=_one_line,
        type=lambda field: _type(field, known),
        default=lambda field: _short(field["default"]) if "default" in field else "",
    )


def _expectations() -> str:
    from harness.claims.claim import Claim
    from harness.suite.written_expectations import EXPECTATIONS

    models: dict[str, Any] = Claim.model_json_schema()["$defs"]
    groups: dict[str, list[tuple[str, str, str]]] = {}
    for name, function in EXPECTATIONS.items():
        about = _one_line((inspect.getmodule(function).__doc__ or "").split("\n\n")[0])
        arguments = ", ".join(
            f"`{key}`" if key in models[name].get("required", ()) else f"(`{key}`)"
            for key in models[name].get("properties", ())
        )
        groups.setdefault(about, []).append((name, arguments, _one_line(function.__doc__ or "")))
    return files.render(
        "expectations.md.j2",
        groups=[
            (about.removeprefix("Expectations on ").partition(":")[0].rstrip("."), rows)
            for about, rows in groups.items()
        ],
        sends=list(SendOutcome),
        transactions=list(TxnOutcome),
    )


def _is_on_page(model: dict[str, Any]) -> bool:
    return bool(model.get("properties") or model.get("enum"))


def _short(value: Any) -> str:
    text = json.dumps(value)
    return f"`{text}`" if len(text) <= 60 else "see below"


def _type(field: dict[str, Any], known: dict[str, Any]) -> str:
    """A JSON schema's type in words, with links to the models on the page."""
    if "$ref" in field:
        name = field["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})" if _is_on_page(known[name]) else name
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


def _one_line(text: str) -> str:
    """Text for a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


def _python() -> str:
    return files.render("python.md.j2", signature=_signature, summary=_summary, members=_members)


def _signature(name: str) -> str:
    value = getattr(kafka_chaos, name)
    if not inspect.isfunction(value):
        return ""
    return (
        "("
        + ", ".join(str(each).split(":")[0] for each in inspect.signature(value).parameters.values())
        + ")"
    )


def _summary(name: str) -> str:
    """The first paragraph of the name's docstring."""
    if name == "__version__":
        return "The version of the installed distribution."
    return cell(inspect.cleandoc(getattr(kafka_chaos, name).__doc__ or "").split("\n\n")[0])


def _members(name: str) -> str:
    return ", ".join(f"`{each}`" for each in sorted(getattr(kafka_chaos, name).__all__))
