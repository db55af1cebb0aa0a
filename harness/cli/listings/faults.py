"""The faults for users: a list that says what is possible on this machine, and a page per fault."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from typing import Any

import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from faults.shared.fault_spec import FaultSpec
from harness.model.errors import BadInput, did_you_mean
from harness.model.frozen import Frozen
from harness.report.page import markdown
from harness.report.page.blocks import Table
from harness.run.preflight import kernel_probes
from harness.run.preflight.feasibility import unmet_needs
from harness.spec.fault_index import fault_specs


def fault_rows(found: Sequence[kernel_probes.Capability], kind: str | None = None) -> list[dict[str, Any]]:
    """One row per fault: kind, summary, parameters, needs, and `possible` (None: not probed) with the reason;
    `by` is "proxy" if the proxies cause it because the kernel cannot.

    Raises:
        BadInput: no fault is called `kind`.
    """
    chosen = fault_specs() if kind is None else {kind: spec_of(kind)}
    probed = {capability.name for capability in found if capability.works is not None}
    rows = []
    for name, spec in chosen.items():
        missing = unmet_needs(spec.needs, found)
        unsure = not missing and not set(spec.needs) <= probed
        rows.append(
            {
                "kind": name,
                "summary": summary(spec),
                "parameters": parameters(spec),
                "needs": list(spec.needs),
                "possible": None if unsure else not missing or spec.as_messages is not None,
                "by": "proxy" if missing and spec.as_messages else "kernel",
                "reason": "; ".join(missing),
            }
        )
    return rows


def spec_of(kind: str) -> type[FaultSpec]:
    """The fault of this name.

    Raises:
        BadInput: there is no such fault.
    """
    faults = fault_specs()
    if kind not in faults:
        raise BadInput(
            f"no fault is called {kind!r}",
            expected=f"one of {', '.join(faults)}",
            next_step=did_you_mean(kind, faults, "`kafka-chaos faults` lists them"),
        )
    return faults[kind]


def summary(spec: type[FaultSpec]) -> str:
    """The first sentence of a fault's documentation."""
    first = " ".join(_documentation(spec).split("\n\n")[0].split())
    return re.split(r"(?<=[.;])\s", first)[0].rstrip(";.") + "."


def _documentation(spec: type[FaultSpec]) -> str:
    return inspect.cleandoc(spec.__doc__ or "")


def parameters(spec: type[BaseModel], above: str = "") -> list[dict[str, Any]]:
    """Every parameter: name (with `above` before it), description, whether it is required, its default."""
    return [
        {
            "name": above + (field.alias or name),
            "description": field.description or "",
            "required": field.is_required(),
            "default": _default(field),
        }
        for name, field in spec.model_fields.items()
        if name != "kind"
    ]


def _default(field: FieldInfo) -> Any:
    value: Any = None if field.is_required() else field.get_default(call_default_factory=True)
    return value.model_dump(mode="json", by_alias=True) if hasattr(value, "model_dump") else value


def table(rows: list[dict[str, Any]]) -> Table:
    """The rows of `fault_rows` as a table for a terminal."""
    possible = {True: "yes", None: "not probed"}
    cells = []
    for row in rows:
        names = [
            parameter["name"] if parameter["required"] else f"[{parameter['name']}]"
            for parameter in row["parameters"]
        ]
        possible_here = possible.get(row["possible"], f"no ({row['reason']})")
        if row["by"] == "proxy":
            possible_here = f"by proxies ({row['reason']})"
        cells.append((row["kind"], row["summary"], ", ".join(names), possible_here))
    return Table(("fault", "what it does", "parameters", "possible here"), cells, title="faults")


def page(kind: str) -> str:
    """One fault's page of documentation, as Markdown.

    Raises:
        BadInput: there is no such fault.
    """
    spec = spec_of(kind)
    inside = [
        row
        for name, field in spec.model_fields.items()
        if isinstance(kind_of := field.annotation, type) and issubclass(kind_of, Frozen)
        for row in parameters(kind_of, f"{field.alias or name}.")
    ]
    rows = [
        (
            f"`{row['name']}`",
            "required" if row["required"] else f"`{_yaml(row['default'])}`",
            row["description"],
        )
        for row in [*parameters(spec), *inside]
    ]
    shown = markdown.table(("name", "default", "meaning"), rows, markdown.cell) if rows else ""
    leaves = "".join(f"- {what}\n" for what in spec.leaves)
    needs = "Nothing but a Docker engine."
    if spec.needs:
        needs = f"Kernel and engine must support {', '.join(spec.needs)}; `kafka-chaos doctor` checks this."
    if spec.as_messages:
        needs += " Where they do not, the proxies cause it."
    return (
        f"# {kind}\n\n{_documentation(spec)}\n\n## Parameters\n\n{shown}\n"
        + (f"## Leaves\n\nHealing does not undo:\n\n{leaves}\n" if leaves else "")
        + f"## Needs\n\n{needs}\n"
    )


def _yaml(value: Any) -> str:
    return yaml.safe_dump(value, default_flow_style=True).removesuffix("...\n").strip()
