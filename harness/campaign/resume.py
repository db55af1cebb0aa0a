"""Refuses a --resume whose options differ from those of the folder."""

from __future__ import annotations

from pathlib import Path

from harness.model.errors import BadInput


def refuse_another(
    kind: str, folder: Path, seed: tuple[int | None, int], cluster_options: tuple[str | None, ...], other: str
) -> None:
    """Refuse to resume a folder with other options than it was begun with. `seed` is the option and the
    folder's own; `other` says what else differs, or is empty.

    Raises:
        BadInput: something differs.
    """
    option, begun_with = seed
    found = other
    if any(cluster_options):
        found = "--kafka-version, --image and --profile cannot change with --resume"
    elif option is not None and option != begun_with:
        found = f"it was begun with --seed {begun_with}"
    if found:
        raise BadInput(
            f"the folder holds another {kind}",
            where=str(folder),
            found=found,
            next_step=f"leave that out, or begin a new {kind} without --resume",
        )
