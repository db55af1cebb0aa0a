"""Writes the generated pages of docs/, or tells which of them have drifted from the code.

python -m harness.cli.docgen                                        list drifted files; exit code 1 if any
python -m harness.cli.docgen --write                                write them
python -m harness.cli.docgen claims --write --take results/claims   first replace the saved results of runs

python -m harness.cli.docgen claims --write --more --take results/claims   add the results of further runs
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.cli.docgen import ci, clients, reference, run_folders, suites

_PAGES = {
    "faults": reference.FAULT_PAGES,
    "findings": run_folders.FINDINGS,
    "journals": reference.JOURNALS_PAGES,
    "claims": suites.CLAIM_PAGES,
    "bugs": suites.BUG_PAGES,
    "applications": run_folders.APPLICATIONS,
    "clients": clients.CLIENTS,
    "ci": ci.CI_PAGES,
    "reference": reference.PAGES,
}


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
    if take:
        taking = _PAGES[names[0]].take
        if len(names) != 1 or taking is None:
            raise typer.BadParameter(
                "--take goes with one page that shows results: claims, bugs, findings, applications, clients"
            )
        if names[0] in ("claims", "bugs"):  # They are made from files, which may be named by their folder.
            named = [path.rglob(f"{names[0]}.json") if path.is_dir() else [path] for path in take]
            take = [file for files in named for file in sorted(files)]
        taking(take, more=more)
    writing, clean = bool(write or take), True
    for name in names:
        drifted = _PAGES[name].drifted(write=writing)
        clean = clean and not drifted
        state = "written" if writing else "drifted"
        print(f"{name}: {state}: {', '.join(drifted)}" if drifted else f"{name}: up to date")
    if not clean and not writing:
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
