"""The run folder that an import writes: it is complete, or it does not exist."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.model.errors import BadInput, JournalError
from harness.model.journal import UNREADABLE


@contextmanager
def new_run_folder(folder: Path) -> Iterator[Path]:
    """A folder beside it to write the run into, which becomes `folder` if the block does not raise.

    Raises:
        BadInput: the folder holds something.
        JournalError: it cannot be written.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BadInput(
            "the run folder exists already",
            where=str(folder),
            expected="a folder that does not exist, or is empty",
            next_step="name another one",
        )
    scratch = folder.with_name(f".{folder.name}.importing")
    shutil.rmtree(scratch, ignore_errors=True)
    try:
        with JournalError.for_errors(
            UNREADABLE,
            "the run folder cannot be written",
            where=folder,
            expected="a writable folder with free space",
            next_step="free space or name another folder",
        ):
            scratch.mkdir(parents=True)
            yield scratch
            if folder.exists():
                folder.rmdir()
            scratch.replace(folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
