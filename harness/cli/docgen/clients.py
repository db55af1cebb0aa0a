"""The page that compares Kafka's clients: `docs/clients.md`, from the runs in `docs/clients.json`, and of
consumers from those in `docs/consumers.json`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from harness.cli.docgen import files
from harness.cli.docgen.consumers import consumers_of_page, take_consumers
from harness.lab.clients.client import CLIENT
from harness.lab.clients.client_run import ClientCell
from harness.lab.clients.comparison_result import CLIENTS_FILE, ClientsResult, load_comparison
from harness.lab.clients.fault import CLIENT_FAULT
from harness.lab.clients.page import NOTE, doubts, row_texts, shares_of
from harness.lab.consumers.consumer_result import CONSUMERS_FILE
from harness.many.run_store import RunStore
from harness.report.page.blocks import moment
from harness.report.page.markdown import cell, table

_SAVED = files.DOCS / CLIENTS_FILE
_NO_FAULT = "none"


def clients_page() -> dict[str, str]:
    """The text of the page; without saved runs it says how to make them."""
    result = load_comparison(_SAVED) if _SAVED.exists() else None
    cells = result.cells if result is not None else ()
    by_fault = {fault: list(same) for fault, same in groupby(cells, key=lambda one: one.fault)}
    seen = {(one.client, one.mode): one for one in by_fault.get(_NO_FAULT, ())}
    tables = [
        (CLIENT_FAULT.builtin(fault)[0], table(*_fault_table(same), cell), list(shares_of(same)))
        for fault, same in by_fault.items()
    ]
    return {
        "clients.md": files.render(
            "clients.md.j2",
            clients=table(("client", "mode", "what a user writes", "asks for"), _modes(seen), cell),
            tables=tables,
            note=NOTE,
            kafka=", ".join(sorted({run.kafka for run in result.runs})) if result is not None else "",
            day="" if result is None else moment(result.started_ns)[:10],
            repeat=_repeats(cells),
            doubts=[] if result is None else list(doubts(result)),
            notes=[(name, CLIENT.builtin(name)[0].notes) for name in CLIENT.builtin_names()],
            causes=table(("client", "what was seen", "because", "source"), _causes(), cell),
            consumers=consumers_of_page(),
        )
    }


def _repeats(cells: Sequence[ClientCell]) -> str:
    """How many runs cells have: "5 runs", or "1 to 5 runs" if not all have as many."""
    numbers = sorted({len(one.runs) for one in cells})
    some = " to ".join(f"{number}" for number in dict.fromkeys(numbers[:1] + numbers[-1:]))
    return f"{some} run{'' if numbers == [1] else 's'}"


def _causes() -> list[tuple[str, ...]]:
    """Why the built-in clients do what the tables show."""
    return [
        (f"{spec.title} {spec.version}", cause.seen, cause.because.strip(), cause.source)
        for spec in (CLIENT.builtin(name)[0] for name in CLIENT.builtin_names())
        for cause in spec.causes
    ]


def _modes(seen: dict[tuple[str, str], ClientCell]) -> list[tuple[str, ...]]:
    """Each built-in client in each mode, and what its first Produce request asked for, as a proxy saw it."""
    rows: list[tuple[str, ...]] = []
    for name in CLIENT.builtin_names():
        spec = CLIENT.builtin(name)[0]
        for mode, how in spec.modes.items():
            runs = seen[name, mode].runs if (name, mode) in seen else ()
            wire = " or ".join(dict.fromkeys(run.wire for run in runs if run.wire)) or "-"
            rows.append((f"{spec.title} {spec.version}", mode, f"`{how.says}`", wire))
    return rows


def _fault_table(cells: Sequence[ClientCell]) -> tuple[Sequence[str], list[tuple[str, ...]]]:
    head, *_ = rows = [row_texts(one) for one in cells]
    return list(head), [tuple(row.values()) for row in rows]


def _take(results: Sequence[Path], *, more: bool) -> None:
    """Show the runs of these comparisons, the later ones in place of earlier ones of the same cells; beside
    those that the page shows already if `more`. Those of consumers are shown beside, each alone."""
    of_consumers = [
        path for path in results if (path / CONSUMERS_FILE).exists() or path.name == CONSUMERS_FILE
    ]
    for path in of_consumers:
        take_consumers(path, more=more)
    found = [load_comparison(path) for path in results if path not in of_consumers]
    if not found:
        return
    before = [load_comparison(_SAVED)] if more and _SAVED.exists() else []
    merged: dict[tuple[str, str, str], ClientCell] = {}
    for result in (*before, *found):
        merged |= {(one.fault, one.client, one.mode): one for one in result.cells}
    last = found[-1]
    # Faults in the order of the page, clients by name; the modes of one are together.
    order = [*CLIENT_FAULT.builtin_names()]
    cells = sorted(merged.values(), key=lambda one: (order.index(one.fault), one.client))
    merged_result = ClientsResult(
        command=files.without_folder(last.command),
        started_ns=last.started_ns,
        repeat=last.repeat,
        titles={name: title for result in (*before, *found) for name, title in result.titles.items()},
        says={name: says for result in (*before, *found) for name, says in result.says.items()},
        left_out=last.left_out,
        runs=tuple(
            run.model_copy(update={"reasons": files.first_lines(run.reasons)})
            for one in cells
            for run in one.runs
        ),
    )
    RunStore[Any](files.DOCS).write(CLIENTS_FILE, merged_result)


CLIENTS = files.Pages(files.DOCS, clients_page, take=_take)
