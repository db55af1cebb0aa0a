"""The pages that come from code: commands, experiment files, the Python interface, journals, faults.

`docs/faults/<kind>.md` is each fault's page. `docs/faults/README.md` lists them with the evidence in
`docs/faults/evidence.json`, which a run of the tests writes (`make evidence`). Typer writes the sections of
the commands, and griffe2md those of the Python interface. MkDocs builds the site from docs/ (`make site`).
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import typer.main
import yaml
from griffe import GriffeLoader, Parser
from griffe2md import ConfigDict, render_object_docs
from typer.cli import get_docs_for_click

from faults import targets
from harness.cli.docgen import files
from harness.cli.listings.faults import page, summary
from harness.model.journal import SCHEMA_VERSION, SendOutcome, TxnOutcome
from harness.model.journal_format import JOURNALS
from harness.report.page.markdown import cell, table
from harness.spec.experiment import Experiment
from harness.spec.experiment_files import EXPERIMENT
from harness.spec.fault_index import fault_specs

FOLDER = files.DOCS / "reference"
_FAULTS = files.DOCS / "faults"
JOURNALS_PAGE = FOLDER / "journals.md"
_FIRST = ("ClusterSpec", "TopicSpec", "WorkloadSpec", "ProducerSettings", "ReaderSpec", "Arm")
"""Models that come first on the page; all others follow in alphabetical order."""
_PYTHON: ConfigDict = {
    "heading_level": 3,
    "show_root_full_path": False,
    "show_root_members_full_path": False,
    "show_object_full_path": False,
    "show_signature_annotations": True,
    "show_bases": False,
    "show_if_no_docstring": False,
    "inherited_members": False,
    "members_order": "source",
    "filters": ["!^_(?!_call__)"],
    "summary": False,
    "line_length": 100,
}


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
    from harness.cli.app import EXAMPLES, app

    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    return files.render(
        "cli.md.j2",
        commands=[(name, command) for name, command in sorted(commands.items()) if not command.hidden],
        example=EXAMPLES.get,
        one_line=_one_line,
        section=_section,
    )


def _section(name: str, command: Any) -> str:
    """What `typer harness/cli/app.py utils docs` writes of a command, without its example. The usage is no
    command that can be typed, so its block is none of a console."""
    command.epilog = None
    text = get_docs_for_click(
        obj=command, ctx=typer.Context(command), indent=1, name=f"kafka-chaos {name}", title=name
    )
    return text.replace("```console\n$ ", "```text\n").rstrip()


def _experiment_files() -> str:
    schema = Experiment.model_json_schema()
    known: dict[str, Any] = schema["$defs"]
    faults = {spec.__name__ for spec in fault_specs().values()}
    others = sorted(name for name in known if name not in _FIRST and name not in faults)
    shown = [name for name in (*_FIRST, *others) if _is_on_page(known.get(name, {}))]
    return files.render(
        "experiment-files.md.j2",
        models=[("The file", schema), *((name, known[name]) for name in shown)],
        one_line=_one_line,
        type=lambda field: _type(field, known),
        default=_default,
    )


def _expectations() -> str:
    from harness.lab.claims.claim import Claim
    from harness.lab.suite.written_expectations import EXPECTATIONS

    models: dict[str, Any] = Claim.model_json_schema()["$defs"]
    groups: dict[str, list[tuple[str, str, str]]] = {}
    for name, function in EXPECTATIONS.items():
        module = _one_line((inspect.getmodule(function).__doc__ or "").split("\n\n")[0])
        about = module.removeprefix("Expectations on ").partition(":")[0].rstrip(".")
        arguments = ", ".join(
            f"`{key}`" if key in models[name].get("required", ()) else f"(`{key}`)"
            for key in models[name].get("properties", ())
        )
        groups.setdefault(about, []).append((name, arguments, _one_line(function.__doc__ or "")))
    return files.render(
        "expectations.md.j2",
        groups=groups.items(),
        sends=list(SendOutcome),
        transactions=list(TxnOutcome),
    )


def _is_on_page(model: dict[str, Any]) -> bool:
    return bool(model.get("properties") or model.get("enum"))


def _default(field: dict[str, Any]) -> str:
    if "default" not in field:
        return ""
    text = json.dumps(field["default"])
    return f"`{text}`" if len(text) <= 60 else "see below"


def _type(field: dict[str, Any], known: dict[str, Any]) -> str:
    """A JSON schema's type in words, with links to the models on the page."""
    if "$ref" in field:
        name = field["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})" if _is_on_page(known[name]) else name
    for several in ("anyOf", "oneOf"):
        if several in field:
            kinds = list(dict.fromkeys(_type(choice, known) for choice in field[several]))
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
    # From the sources: names are imported lazily, and griffe follows the imports for type checkers instead.
    loader = GriffeLoader(
        search_paths=[files.DOCS.parent],
        docstring_parser=Parser.google,
        docstring_options={"warnings": False},
        allow_inspection=False,
    )
    for package in ("harness", "faults", "workloads", "checkers"):
        loader.load(package)
    public: Any = loader.load("kafka_chaos")

    def api(name: str, members: Sequence[str] | None = None, *, constructor: bool = False) -> str:
        """The section of a name: signature, docstring and `members` (None: all public ones)."""
        chosen: ConfigDict = {"members": members, "merge_init_into_class": constructor}
        return _without_links(render_object_docs(public[name], {**_PYTHON, **chosen})).strip()

    return files.render(
        "python.md.j2",
        api=api,
        summary=lambda name: cell(public[name].docstring.value.split("\n\n")[0]),
        members=lambda name: ", ".join(f"`{each}`" for each in sorted(public[name].exports)),
    )


def _without_links(text: str) -> str:
    """Types as plain text: griffe2md links each to an anchor, of which the page has only a few. Signatures
    are no Python that can be run, as the other blocks of the page are."""
    plain = re.sub(r"\[([\w.]+)\]\(#[\w.]+\)", r"\1", text)
    return re.sub(r"</?code>", "`", plain).replace("```python", "```py")


def journals_page(text: str) -> str:
    """The page on journals `text`, which is written by hand but for its tables, with these made anew."""
    before, begin, rest = text.partition("<!-- columns:begin -->")
    _, end, after = rest.partition("<!-- columns:end -->")
    journals = sorted(JOURNALS, key=lambda journal: journal.path)  # not in the order of imports
    tables = files.render("journals.md.j2", journals=journals, version=SCHEMA_VERSION, kind=_kind)
    return f"{before}{begin}\n{tables}{end}{after}"


def _kind(column: pa.DataType) -> str:
    return f"list of {column.value_type}" if pa.types.is_list(column) else str(column)


def fault_pages() -> dict[str, str]:
    """Every generated file's text, by its name below docs/faults."""
    evidence = files.saved(_FAULTS / "evidence.json", {"machine": "", "rows": [], "impossible": []})
    impossible = [(row["kind"], cell(row["reason"])) for row in evidence["impossible"]]
    listed = [(f"[{kind}]({kind}.md)", summary(spec)) for kind, spec in fault_specs().items()]
    readme = files.render(
        "faults.md.j2",
        faults=table(("fault", "what it does"), listed, str),
        machine=evidence["machine"],
        proofs=_proofs(evidence["rows"]),
        impossible=table(("fault", "reason"), impossible, str) if impossible else "",
    )
    pages_of_faults = {f"{kind}.md": page(kind) for kind in fault_specs()}
    return {**pages_of_faults, "README.md": readme, "targets.md": _targets()}


def _proofs(rows: list[dict[str, Any]]) -> str:
    """One row per fault that the tests proved on real brokers."""
    shown = []
    for row in sorted(rows, key=lambda row: (row["kind"], json.dumps(row["spec"]))):
        spec = {key: value for key, value in row["spec"].items() if key != "kind"}
        written = yaml.safe_dump(spec, default_flow_style=True, sort_keys=False, width=10**6).strip()
        times = (f"{row[name]:,.0f}" for name in ("inject_ms", "seen_ms", "heal_ms"))
        elsewhere = f" (on {row['machine']})" if "machine" in row else ""
        shown.append((row["kind"], f"`{written}`", cell(row["what"] + elsewhere), *times))
    return table(("fault", "as written", "proof", "injected", "seen", "healed"), shown, str)


def _targets() -> str:
    """Every target with its meaning, from its docstring."""
    about = (targets.__doc__ or "").partition("\n\n")[2].strip()
    rows = [(f"`{key}`", " ".join((model.__doc__ or "").split())) for key, model in targets.KINDS.items()]
    return f"# Targets\n\n{about}\n\n{table(('target', 'means'), rows, str)}"


PAGES = files.Pages(FOLDER, lambda: {**pages(), "experiment.schema.json": EXPERIMENT.schema_text()})
FAULT_PAGES = files.Pages(_FAULTS, fault_pages, (".md",))
JOURNALS_PAGES = files.Pages(FOLDER, lambda: {JOURNALS_PAGE.name: journals_page(JOURNALS_PAGE.read_text())})
