"""Converts files of other chaos tools into experiment files of ours (`kafka-chaos convert`)."""

from __future__ import annotations

from pathlib import Path

from harness.config.other_files import recognised
from harness.config.yaml_files import NotYaml, read_documents
from harness.interop.conversion.draft import PAGE, Draft, mapping
from harness.interop.conversion.kubernetes import chaos_mesh, litmus
from harness.interop.conversion.tasks import chaos_toolkit, trogdor
from harness.model.errors import BadInput
from harness.spec.experiment_files import parse

CONVERTERS = {one.__name__: one for one in (chaos_mesh, litmus, trogdor, chaos_toolkit)}
"""What adds the faults of a document to a draft, by the names in harness/config/other_files.yaml."""


def convert(path: Path) -> Draft:
    """The experiment that does what a file of another tool says; `Draft.text` is its file.

    Raises:
        BadInput: the file cannot be read, is of no tool that is known, or what it does has no equal.
    """
    try:
        documents = read_documents(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError, NotYaml) as error:
        raise BadInput("the file cannot be read", where=str(path), found=str(error)) from error
    known = [(mapping(one), what) for one in documents if (what := recognised(one, str(path))) is not None]
    wanted = [(document, one) for document, one in known if one.converter is not None]
    if not wanted:
        raise BadInput(
            "this cannot be converted",
            where=str(path),
            expected="a file of Chaos Mesh, Litmus, Trogdor, or the Chaos Toolkit",
            found=known[0][1].what if known else None,
            next_step=known[0][1].next_step if known else f"{PAGE} lists what is read",
        )
    first = wanted[0][0]
    name = first.get("title") or first.get("name") or mapping(first.get("metadata")).get("name") or path.stem
    draft = Draft(path.name, " and ".join(dict.fromkeys(one.what for _, one in wanted)), str(name))
    for document, one in wanted:
        CONVERTERS[str(one.converter)](draft, document)
    if len(wanted) > 1:
        draft.note("the faults of several documents come one after the other, and not at once")
    if len(wanted) < len(documents):
        draft.note(f"{len(documents) - len(wanted)} document(s) without such a fault are left out")
    try:
        parse(draft.text(), path.name)
    except BadInput as error:
        raise draft.refused(f"faults that are not possible here: {error.found or error.what}") from error
    return draft
