"""Generated files of docs/: which have drifted from the code, and how to write them again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from harness.report.markdown import cell

DOCS = Path(__file__).resolve().parents[2] / "docs"
_TEMPLATES = Environment(
    loader=PackageLoader("harness.docgen"),
    undefined=StrictUndefined,
    keep_trailing_newline=True,
    trim_blocks=True,
    autoescape=False,
)
_TEMPLATES.filters["cell"] = cell


def drifted(wanted: Mapping[str, str], folder: Path, suffixes: tuple[str, ...] = (".md",)) -> list[str]:
    """Names of files that are missing, differ, or are leftovers. Leftovers are files of the folder with one
    of `suffixes` that `wanted` does not name; without suffixes other files of the folder are left alone."""
    paths = folder.iterdir() if folder.exists() else ()
    here = {path.name: path.read_text() for path in paths if path.suffix in suffixes or path.name in wanted}
    return sorted(name for name in wanted.keys() | here.keys() if wanted.get(name) != here.get(name))


def write(wanted: Mapping[str, str], folder: Path, suffixes: tuple[str, ...] = (".md",)) -> list[str]:
    """Write what has drifted and remove leftovers; returns the names."""
    names = drifted(wanted, folder, suffixes)
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        if name in wanted:
            (folder / name).write_text(wanted[name])
        else:
            (folder / name).unlink()
    return names


def render(template: str, **values: Any) -> str:
    """The text of a page from its template in harness/docgen/templates."""
    return _TEMPLATES.get_template(template).render(**values)
