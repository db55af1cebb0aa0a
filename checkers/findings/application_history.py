"""When an application's instances were started again, and what they had checkpointed, as its journal says."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from checkers.facts.columns import NULL, WIDTH, Ints
from checkers.journals.footers import JournalFile
from harness.model.storage import open_parquet


@dataclass(frozen=True)
class ApplicationHistory:
    """`restarts` are moments (ns) and instances, `checkpoints` moments and offsets by spot of the input; both
    in order of time."""

    restarts: tuple[tuple[int, int], ...] = ()
    checkpoints: Mapping[int, tuple[tuple[int, int], ...]] | None = None

    def restarted_before(self, sent: Ints, moment: Ints) -> Ints:
        """The instance that was started again last between two moments of each row; null: none was."""
        found = np.full(len(sent), NULL, np.int64)
        for at, instance in self.restarts:
            found[(sent != NULL) & (moment != NULL) & (sent <= at) & (at <= moment)] = instance
        return found

    def checkpoint_at(self, spot: Ints, moment: Ints) -> Ints:
        """The last checkpoint of each row's partition up to a moment; null: none is known."""
        return self._last(spot, moment, by_offset=False)

    def checkpoint_below(self, spot: Ints, offset: Ints) -> Ints:
        """The highest checkpoint of each row's partition not beyond an offset; null: none is known."""
        return self._last(spot, offset, by_offset=True)

    def _last(self, spot: Ints, bound: Ints, *, by_offset: bool) -> Ints:
        found = np.full(len(spot), NULL, np.int64)
        for one, listed in (self.checkpoints or {}).items():
            rows = np.flatnonzero((spot == one) & (bound != NULL))
            offsets = np.array([offset for _, offset in listed], np.int64)
            keys = np.sort(offsets) if by_offset else np.array([at for at, _ in listed], np.int64)
            at = np.searchsorted(keys, bound[rows], "right") - 1
            values = keys if by_offset else offsets
            found[rows[at >= 0]] = values[at[at >= 0]]
        return found


def read_application(files: Sequence[JournalFile], topic: int) -> ApplicationHistory:
    """The history of a run's application.

    The detail of an event may have a checkpoint: the next offset to read by partition of the input, such as
    `{"checkpoint": {"0": 120}}`.

    Args:
        topic: the number of the input.
    """
    restarts = []
    checkpoints: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for file in files:
        with open_parquet(file.path) as parquet:
            table = parquet.read(columns=["at_ns", "instance", "event", "detail"])
        for row in table.to_pylist():
            if row["event"] == "restarted":
                restarts.append((row["at_ns"], row["instance"]))
            for partition, offset in _checkpoint(row["detail"]).items():
                checkpoints[topic * WIDTH + int(partition)].append((row["at_ns"], int(offset)))
    return ApplicationHistory(
        restarts=tuple(sorted(restarts)),
        checkpoints={spot: tuple(sorted(listed)) for spot, listed in checkpoints.items()},
    )


def _checkpoint(detail: str) -> dict[str, int]:
    found = json.loads(detail or "{}").get("checkpoint", {})
    return found if isinstance(found, dict) else {}
