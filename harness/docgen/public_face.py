"""The reference page of the Python interface: every name of `kafka_chaos`, from its docstring."""

from __future__ import annotations

import inspect

import kafka_chaos
from harness.docgen.files import render
from harness.report.markdown import cell


def page() -> str:
    """The text of docs/reference/python.md."""
    return render("python.md.j2", signature=_signature, summary=_summary, members=_members)


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
