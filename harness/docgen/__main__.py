"""Writes the generated pages of docs/, or tells which of them have drifted from the code.

    python -m harness.docgen                                        list drifted files; exit code 1 if any
    python -m harness.docgen --write                                write them
    python -m harness.docgen claims --write --take results/claims   first replace the saved results of runs

    python -m harness.docgen claims --write --more --take results/claims   add the results of further runs

Every module of `_PAGES` is as `files.drifted` says. Modules whose pages show results of runs also have
`take(files, more=)`.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Annotated, Any

import typer

from harness.docgen import files

_PAGES = ("faults", "findings", "journals", "claims", "bugs", "applications", "reference")
_RESULTS = {"claims": "claims.json", "bugs": "bugs.json"}


def main(
    pages: Annotated[
        list[str] | None, typer.Argument(help=f"Pages to look at: {', '.join(_PAGES)}. Default: all.")
    ] = None,
    write: Annotated[bool, typer.Option("--write", help="Write the files that have drifted.")] = False,
    take: Annotated[
        list[Path] | None,
        typer.Option(help="Results of runs (a file or a folder) that replace those shown on the page named."),
    ] = None,
    more: Annotated[
        bool, typer.Option("--more", help="With --take: keep the results of earlier runs, too.")
    ] = False,
) -> None:
    """Tell which generated pages of docs/ have drifted from the code (exit code 1), or write them."""
    names = pages or list(_PAGES)
    if unknown := sorted(set(names) - set(_PAGES)):
        raise typer.BadParameter(f"unknown: {', '.join(unknown)}; expected {', '.join(_PAGES)}")
    modules: dict[str, Any] = {name: importlib.import_module(f"harness.docgen.{name}") for name in names}
    if take:
        if len(names) != 1 or not hasattr(modules[names[0]], "take"):
            raise typer.BadParameter(
                "--take goes with one page that shows results: claims, bugs, findings or applications"
            )
        modules[names[0]].take([file for path in take for file in _files(path, names[0])], more=more)
    writing, clean = bool(write or take), True
    for name, module in modules.items():
        found = files.drifted(module, write=writing)
        clean = clean and not found
        state = "written" if writing else "drifted"
        print(f"{name}: {state}: {', '.join(found)}" if found else f"{name}: up to date")
    if not clean and not writing:
        raise typer.Exit(1)


def _files(path: Path, page: str) -> list[Path]:
    """The files of results below a folder; any other path as it is."""
    return sorted(path.rglob(_RESULTS[page])) if page in _RESULTS and path.is_dir() else [path]


if __name__ == "__main__":
    typer.run(main)
