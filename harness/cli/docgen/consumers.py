"""The second part of the page that compares Kafka's clients: consumers, from the runs in
`docs/consumers.json`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from harness.cli.docgen import files
from harness.lab.clients.client import CLIENT
from harness.lab.consumers.consumer_page import CONSUMERS_NOTE, consumer_doubts, consumer_texts
from harness.lab.consumers.consumer_result import CONSUMERS_FILE, load_consumers
from harness.lab.consumers.consumer_run import ConsumerCell
from harness.lab.consumers.situation import SITUATION
from harness.many.run_store import RunStore
from harness.report.page.blocks import moment
from harness.report.page.markdown import cell, table

_SAVED = files.DOCS / CONSUMERS_FILE


def consumers_of_page() -> dict[str, Any]:
    """What the template of the page says of consumers."""
    result = load_consumers(_SAVED) if _SAVED.exists() else None
    cells = result.cells if result is not None else ()
    return {
        "modes": table(("client", "mode", "what a user writes", "who commits"), _modes(), cell),
        "tables": [
            (SITUATION.builtin(name)[0], table(*_texts(list(same)), cell))
            for name, same in groupby(cells, key=lambda one: one.situation)
        ],
        "note": CONSUMERS_NOTE,
        "kafka": ", ".join(sorted({run.kafka for run in result.runs})) if result is not None else "",
        "day": "" if result is None else moment(result.started_ns)[:10],
        "repeat": 0 if result is None else result.repeat,
        "doubts": [] if result is None else list(consumer_doubts(result)),
    }


def _modes() -> list[tuple[str, ...]]:
    """Each built-in client that consumes, in each mode."""
    rows: list[tuple[str, ...]] = []
    for name in CLIENT.builtin_names():
        spec = CLIENT.builtin(name)[0]
        for mode, how in spec.consumer.modes.items() if spec.consumer is not None else ():
            rows.append((f"{spec.title} {spec.version}", mode, f"`{how.says}`", f"the {how.commits}"))
    return rows


def _texts(cells: Sequence[ConsumerCell]) -> tuple[Sequence[str], list[tuple[str, ...]]]:
    head, *_ = rows = [consumer_texts(one) for one in cells]
    return list(head), [tuple(row.values()) for row in rows]


def take_consumers(path: Path, *, more: bool) -> None:
    """Show the runs of a comparison of consumers, beside those of other cells that are shown already if
    `more`."""
    result = load_consumers(path)
    before = [load_consumers(_SAVED)] if more and _SAVED.exists() else []
    merged: dict[tuple[str, str, str], ConsumerCell] = {}
    for one in (*before, result):
        merged |= {(cell.situation, cell.client, cell.mode): cell for cell in one.cells}
    order = SITUATION.builtin_names()
    cells = sorted(merged.values(), key=lambda cell: order.index(cell.situation))
    kept = {
        "command": files.without_folder(result.command),
        "titles": {name: title for one in (*before, result) for name, title in one.titles.items()},
        "says": {name: says for one in (*before, result) for name, says in one.says.items()},
        "runs": tuple(
            run.model_copy(update={"reasons": files.first_lines(run.reasons)})
            for cell in cells
            for run in cell.runs
        ),
    }
    RunStore[Any](files.DOCS).write(CONSUMERS_FILE, result.model_copy(update=kept))
