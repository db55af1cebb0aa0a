"""Image build contexts (Kafka, the fault toolbox) and compose files of the same clusters for hand use."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).resolve().parent


def context(name: str) -> Path:
    """Folder of the build context `name`, for example "kafka" or "toolbox".

    Raises:
        FileNotFoundError: there is no such context.
    """
    folder = FOLDER / name
    if not (folder / "Dockerfile").is_file():
        raise FileNotFoundError(f"no build context {name!r} in {folder.parent}")
    return folder
