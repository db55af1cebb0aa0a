"""The documentation of the faults, made from their docstrings and from what the tests have proved.

`docs/faults/<kind>.md` is each fault's page. `docs/faults/README.md` lists them with the evidence in
`docs/faults/evidence.json`, which a run of the tests writes (`make evidence`).
"""

from __future__ import annotations

import json
from typing import Any

import yaml

from harness.catalog.faults import page, summary
from harness.docgen import files
from harness.report.markdown import cell
from harness.spec.fault_index import fault_specs

_FOLDER = files.DOCS / "faults"
_EVIDENCE = "evidence.json"
_INTRO = """# Faults

Each is aimed at nodes when it is injected, proved to have taken effect, and healed; a fault that cannot be
proved makes the verdict `unknown`. `kafka-chaos faults` prints this list with what is possible on your
machine, `kafka-chaos faults KIND` a page. These pages are made from the faults' own docstrings and from a
run of the tests (`make evidence`); targets are described in [targets.md](targets.md).

"""


def pages() -> dict[str, str]:
    """Every generated file's text, by its name below docs/faults."""
    evidence = _evidence()
    found = {f"{kind}.md": page(kind) for kind in fault_specs()}
    found["README.md"] = _INTRO + "\n".join(
        [*_list(), "", *_proofs(evidence), "", *_impossible(evidence), ""]
    )
    found["targets.md"] = targets_page()
    return found


def drifted() -> list[str]:
    """Names of generated files that are missing, differ, or belong to no fault any more."""
    return files.drifted(pages(), _FOLDER)


def write() -> list[str]:
    """Write what has drifted and remove what belongs to nothing; returns the names."""
    return files.write(pages(), _FOLDER)


def _evidence() -> dict[str, Any]:
    path = _FOLDER / _EVIDENCE
    empty: dict[str, Any] = {"machine": "", "rows": [], "impossible": []}
    return json.loads(path.read_text()) if path.exists() else empty


def _list() -> list[str]:
    lines = ["| fault | what it does |", "|---|---|"]
    return lines + [f"| [{kind}]({kind}.md) | {summary(spec)} |" for kind, spec in fault_specs().items()]


def _proofs(evidence: dict[str, Any]) -> list[str]:
    """One row per fault that the tests proved on real brokers."""
    lines = [
        "## Proved on real brokers",
        "",
        "For each row a process injected the fault, saw its effect and was killed by SIGKILL; another healed",
        "it from the record that was left, healed it again, and found the cluster clean and settled. Times",
        "are in milliseconds: from the decision until the last act of the injection was done, and until the",
        "effect was seen; healing from its begin until every broker is back in the ISR. One run each.",
        "",
        f"Made with: {evidence['machine']}.",
        "",
        "| fault | as written | proof | injected | seen | healed |",
        "|---|---|---|---|---|---|",
    ]
    for row in sorted(evidence["rows"], key=lambda row: (row["kind"], json.dumps(row["spec"]))):
        spec = {key: value for key, value in row["spec"].items() if key != "kind"}
        written = yaml.safe_dump(spec, default_flow_style=True, sort_keys=False, width=10**6).strip()
        times = " | ".join(f"{row[name]:,.0f}" for name in ("inject_ms", "seen_ms", "heal_ms"))
        lines.append(f"| {row['kind']} | `{written}` | {cell(row['what'])} | {times} |")
    return lines


def _impossible(evidence: dict[str, Any]) -> list[str]:
    lines = ["## Not possible where this was made", ""]
    if not evidence["impossible"]:
        return [*lines, "Nothing: every fault was possible there."]
    lines += ["| fault | reason |", "|---|---|"]
    return lines + [f"| {row['kind']} | {cell(row['reason'])} |" for row in evidence["impossible"]]


def targets_page() -> str:
    """Every target with its meaning, from its docstring."""
    from faults import targets

    lines = [
        "# Targets",
        "",
        (targets.__doc__ or "").partition("\n\n")[2].strip(),
        "",
        "| target | means |",
        "|---|---|",
    ]
    for key, model in targets.KINDS.items():
        meaning = " ".join((model.__doc__ or "").split())
        lines.append(f"| `{key}` | {meaning} |")
    return "\n".join([*lines, ""])
