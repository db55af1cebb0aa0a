"""The documentation of the faults, made from their docstrings and from what the tests have proved.

`docs/faults/<kind>.md` is each fault's page. `docs/faults/README.md` lists them with the evidence in
`docs/faults/evidence.json`, which a run of the tests writes (`make evidence`).
"""

from __future__ import annotations

import json
from typing import Any

import yaml

from harness.docgen import files
from harness.listings.faults import page, summary
from harness.page.markdown import cell, table
from harness.spec.fault_index import fault_specs

FOLDER, SUFFIXES = files.DOCS / "faults", (".md",)


def pages() -> dict[str, str]:
    """Every generated file's text, by its name below docs/faults."""
    evidence = files.saved(FOLDER / "evidence.json", {"machine": "", "rows": [], "impossible": []})
    impossible = [(row["kind"], cell(row["reason"])) for row in evidence["impossible"]]
    found = {f"{kind}.md": page(kind) for kind in fault_specs()}
    found["README.md"] = files.render(
        "faults.md.j2",
        faults=table(
            ("fault", "what it does"),
            [(f"[{kind}]({kind}.md)", summary(spec)) for kind, spec in fault_specs().items()],
            str,
        ),
        machine=evidence["machine"],
        proofs=_proofs(evidence["rows"]),
        impossible=table(("fault", "reason"), impossible, str) if impossible else "",
    )
    found["targets.md"] = targets_page()
    return found


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


def targets_page() -> str:
    """Every target with its meaning, from its docstring."""
    from faults import targets

    about = (targets.__doc__ or "").partition("\n\n")[2].strip()
    rows = [(f"`{key}`", " ".join((model.__doc__ or "").split())) for key, model in targets.KINDS.items()]
    return f"# Targets\n\n{about}\n\n{table(('target', 'means'), rows, str)}"
