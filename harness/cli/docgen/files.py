"""Generated files of docs/: which have drifted from the code, and how to write them again."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from harness.report.page.markdown import cell

DOCS = Path(__file__).resolve().parents[3] / "docs"
_TEMPLATES = Environment(
    loader=PackageLoader("harness.cli.docgen"),
    undefined=StrictUndefined,
    keep_trailing_newline=True,
    trim_blocks=True,
    autoescape=False,
)
_TEMPLATES.filters["cell"] = cell


@dataclass(frozen=True)
class Pages:
    """Generated files of `folder`: `make` tells what they are now, by name. Other files there with one of
    `suffixes` are leftovers. `take(results, more=)` keeps results of runs that the pages show from then on,
    beside those that they show already if `more`."""

    folder: Path
    make: Callable[[], dict[str, str]]
    suffixes: tuple[str, ...] = ()
    take: Callable[..., None] | None = None

    def drifted(self, *, write: bool = False) -> list[str]:
        """Names of files that are missing, differ, or are leftovers; `write` puts them right."""
        wanted, folder = self.make(), self.folder
        paths = folder.iterdir() if folder.exists() else ()
        ours = [path for path in paths if path.suffix in self.suffixes or path.name in wanted]
        here = {path.name: path.read_text() for path in ours}
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


def first_lines(reasons: Iterable[str]) -> tuple[str, ...]:
    """Reasons as a page may show them: the first line of each, once. The others may hold paths of the machine
    on which a run was made."""
    return tuple(dict.fromkeys(line for reason in reasons for line in reason.splitlines()[:1]))


def without_folder(command: str) -> str:
    """A command as a saved file may hold it: without the folder of results, a path of the machine."""
    return re.sub(r" --results[ =]\S+", "", command)


def render(template: str, **values: Any) -> str:
    """The text of a page from its template in harness/cli/docgen/templates."""
    return _TEMPLATES.get_template(template).render(**values)
