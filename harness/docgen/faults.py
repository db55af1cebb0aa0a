"""The documentation of the faults, made from their docstrings and from what the tests have proved.

`docs/faults/<kind>.md` is each fault's page. `docs/faults/README.md` lists them with the evidence in
`docs/faults/evidence.json`, which a run of the tests writes (`make evidence`).
"""

from __future__ import annotations

import json
from typing import Any

import yaml

from faults import targets
from harness.docgen import files
from harness.listings.faults import page, summary
from harness.page.markdown import cell, table
from harness.spec.fault_index import fault_specs

_FOLDER = files.DOCS / "faults"


def pages() -> dict[str, str]:
    """Every generated file's text, by its name below docs/faults."""
    evidence = files.saved(_FOLDER / "evidence.json", {"machine": "", "rows": [], "impossible": []})
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


PAGES = files.Pages(_FOLDER, pages, (".md",))
