"""Generated files of docs/: which have drifted from the code, and how to write them again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from harness.model.journal import RUN_FILE, SUMMARY_FILE
from harness.model.result import Summary
from harness.model.run import RunMeta
from harness.page.markdown import cell

DOCS = Path(__file__).resolve().parents[2] / "docs"
_TEMPLATES = Environment(
    loader=PackageLoader("harness.docgen"),
    undefined=StrictUndefined,
    keep_trailing_newline=True,
    trim_blocks=True,
    autoescape=False,
)
_TEMPLATES.filters["cell"] = cell


def drifted(module: Any, *, write: bool = False) -> list[str]:
    """Names of files that are missing, differ, or are leftovers; `write` puts them right.

    A module of generated pages has their folder (`FOLDER`), and `pages()`, which makes what they are now by
    name. Other files of the folder with one of `SUFFIXES` are leftovers.
    """
    wanted, folder = module.pages(), module.FOLDER
    paths = folder.iterdir() if folder.exists() else ()
    here = {one.name: one.read_text() for one in paths if one.suffix in module.SUFFIXES or one.name in wanted}
    names = sorted(name for name in wanted.keys() | here.keys() if wanted.get(name) != here.get(name))
    for name in names if write else ():
        folder.mkdir(parents=True, exist_ok=True)
        if name in wanted:
            (folder / name).write_text(wanted[name])
        else:
            (folder / name).unlink()
    return names


def saved(file: Path, empty: Any) -> Any:
    """The content of a JSON file; `empty` if there is none."""
    return json.loads(file.read_text()) if file.exists() else empty


def runs_below(folder: Path) -> Iterator[tuple[Path, RunMeta, Summary]]:
    """The checked runs below a folder, by their own folders; interrupted ones and those of another version
    are left out."""
    for path in sorted(folder.glob(f"**/{SUMMARY_FILE}")):
        try:
            meta = RunMeta.model_validate_json((path.parent / RUN_FILE).read_text())
            summary = Summary.model_validate_json(path.read_text())
        except (OSError, ValueError):
            continue
        yield path.parent, meta, summary


def render(template: str, **values: Any) -> str:
    """The text of a page from its template in harness/docgen/templates."""
    return _TEMPLATES.get_template(template).render(**values)
