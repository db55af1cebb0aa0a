"""A run folder with findings of many classes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.history import History, run_meta, window, write_run


def of_every_kind() -> History:
    """A loss (overwritten, held by a replica), a duplicate, a phantom, a recovered, corrupt bytes."""
    return (
        History()
        .send(0, at=0)
        .read(0, at=0)
        .send(1, at=1, sent=4)
        .replica(2, 1, at=1)
        .send(2, at=2)
        .read(2, at=1)
        .read(2, at=2)
        .read(77, at=3, producer=5)
        .send(3, "indeterminate", error="_MSG_TIMED_OUT")
        .read(3, at=4)
        .read(None, at=5, producer=None, state="undecodable", run=None, value=b"?")
    )


def run_with_findings(folder: Path) -> Path:
    """The run folder of that history, with a fault."""
    folder.mkdir()
    return write_run(folder, of_every_kind(), meta=run_meta(windows=(window("kill-1", 3, 5),)), files=3)


def without_engine(summary: dict[str, Any]) -> dict[str, Any]:
    """What every engine must say alike."""
    return {name: value for name, value in summary.items() if name not in ("check_seconds", "engine")}
