"""Counts and examples of some of the findings of a run; those of several parts are added up."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from checkers.facts.columns import MOST, Ints, integers
from checkers.facts.places import rows_of_each
from checkers.findings.fault_windows import split_windows
from checkers.findings.table import Labels
from checkers.judgement.blame import ALLOWED, OF_OUTPUTS, OF_READERS, BlameCell
from checkers.judgement.counting import Coded, CodedTable, counted
from harness.model.result import FindingClass
from harness.model.run import FaultWindow

EXAMPLES_PER_CLASS = 5
MOST_CELLS = 10_000
"""Most rows of counts that are kept, the largest first; the totals by class are always complete."""
MOST_PART_CELLS = 4 * MOST_CELLS
"""If one part has more cells, Spark counts them all from the findings (hostile data: every record of another
producer)."""

Cell = tuple[str, int | None, int | None, int | None, str]
"""Class, producer, partition, step and windows."""
Group = tuple[str, str | None, int | None, int | None, tuple[int, ...] | None]
"""Class, place, step, partition and holders."""

_SHOWN = (
    *(
        "finding",
        "producer",
        "seq",
        "partition",
        "offsets",
        "acked_offset",
        "outcome",
        "sent_ns",
        "closed_ns",
    ),
    *("error", "windows", "held_by", "detail", "reader", "count", "txn", "copies"),
)


@dataclass
class PartialSummary:
    """Counts of findings, by `Cell`, by `Group` (with the number of extra copies) and by `BlameCell`;
    examples of each class; problems. `cells_complete` is False if there were too many cells to list them."""

    cells: Counter[Cell] = field(default_factory=Counter)
    groups: Counter[Group] = field(default_factory=Counter)
    extra_copies: int = 0
    blamed: Counter[BlameCell] = field(default_factory=Counter)
    examples: list[dict[str, Any]] = field(default_factory=list)
    problems: tuple[str, ...] = ()
    cells_complete: bool = True

    def to_bytes(self) -> bytes:
        return json.dumps(
            {
                "cells": list(self.cells.items()),
                "groups": list(self.groups.items()),
                "extra_copies": self.extra_copies,
                "blamed": list(self.blamed.items()),
                "examples": self.examples,
                "problems": self.problems,
                "cells_complete": self.cells_complete,
            }
        ).encode()

    @classmethod
    def merged(cls, parts: Iterable[bytes]) -> PartialSummary:
        """The sum of what `to_bytes` gave."""
        total = cls()
        problems: dict[str, None] = {}
        for part in parts:
            fields = json.loads(part)
            for cell, count in fields["cells"]:
                total.cells[tuple(cell)] += count
            for (*group, held), count in fields["groups"]:
                total.groups[*group, None if held is None else tuple(held)] += count
            for cell, count in fields["blamed"]:
                total.blamed[BlameCell(*cell)] += count
            total.extra_copies += fields["extra_copies"]
            total.examples += fields["examples"]
            total.cells_complete &= fields["cells_complete"]
            problems |= dict.fromkeys(fields["problems"])
        total.examples = first_examples(total.examples)
        total.problems = tuple(problems)
        return total

    @property
    def largest_cells(self) -> list[tuple[Cell, int]]:
        """The cells with the most findings first; ties in a fixed order."""
        return sorted(self.cells.items(), key=lambda one: (-one[1], *map(nulls_first, one[0])))[:MOST_CELLS]


def partial_summary(
    findings: pa.Table, windows: Sequence[FaultWindow], problems: Sequence[str]
) -> PartialSummary:
    """Counts and examples of a table of `checkers.findings.table.FINDINGS`."""
    part = PartialSummary(problems=tuple(problems))
    if not findings.num_rows:
        return part
    columns = CodedTable(findings)
    part.cells = counted([columns[name] for name in ("finding", "producer", "partition", "step", "windows")])
    part.cells_complete = len(part.cells) <= MOST_PART_CELLS
    if not part.cells_complete:
        part.cells.clear()
    part.groups = counted([columns[name] for name in ("finding", "place", "step", "partition", "held_by")])
    duplicates = columns["finding"].among([FindingClass.DUPLICATE.value])
    copies = integers(findings.column("copies"))[duplicates]
    part.extra_copies = int(copies.sum()) - len(copies)
    part.blamed = _blamed(columns, windows)
    part.examples = _examples(findings)
    return part


def _blamed(columns: CodedTable, windows: Sequence[FaultWindow]) -> Counter[BlameCell]:
    blamed = ~columns["finding"].among(ALLOWED)
    if not blamed.any():
        return Counter()
    finding, during, reader = (columns[name].where(blamed) for name in ("finding", "windows", "reader"))
    sent, closed = (integers(columns.table.column(name))[blamed] for name in ("sent_ns", "closed_ns"))
    parts = split_windows(
        *(windows, sent, closed),
        finding.among([FindingClass.LOST.value]),
        finding.among([FindingClass.VANISHED.value]),
        Labels(during.codes, during.values),
    )
    told = dict(zip(("ended", "during", "later"), map(Coded.of_labels, parts), strict=True))
    concerned = finding.among([*OF_READERS, *OF_OUTPUTS])
    told["finding"] = finding
    told["reader"] = Coded.of_labels(Labels(np.where(concerned, reader.codes, -1), reader.values))
    cells = counted(
        [told[name] if name in told else columns[name].where(blamed) for name in BlameCell._fields]
    )
    return Counter({BlameCell(*cell): count for cell, count in cells.items()})


def _examples(findings: pa.Table) -> list[dict[str, Any]]:
    """The first few of each class, and all that are not told apart from these by numbers."""
    codes = integers(findings.column("finding").combine_chunks().dictionary_encode().indices)
    # Only what is needed to tell the first few apart.
    keys = [
        *(cache(partial(_key, findings, name, _descending)) for name in ("copies", "count")),
        cache(partial(_key, findings, "sent_ns", _nulls_last)),
        *(cache(partial(_key, findings, name)) for name in ("producer", "seq", "partition")),
        cache(partial(_first, findings.column("offsets"))),
    ]
    chosen = [
        index for _, rows in rows_of_each(codes) for index in _least(rows, keys, EXAMPLES_PER_CLASS).tolist()
    ]
    return first_examples(findings.take(pa.array(chosen)).select(list(_SHOWN)).to_pylist())


def _key(findings: pa.Table, name: str, ordered: Callable[[Ints], Ints] = np.asarray) -> Ints | None:
    """A column of numbers as a key; None: it is the same in all rows."""
    column = findings.column(name)
    if column.null_count in (0, len(column)):
        extremes = pc.min_max(column)
        if extremes["min"] == extremes["max"]:
            return None
    return ordered(integers(column))


def _first(column: pa.ChunkedArray) -> Ints:
    """The first number of each list; null and empty lists before all others."""
    lists = column.combine_chunks()
    starts = integers(lists.offsets)
    found = np.full(len(lists), -MOST - 1)
    some = np.flatnonzero(starts[1:] > starts[:-1])
    found[some] = integers(lists.values)[starts[some]]
    return found


def _least(rows: Ints, keys: Iterable[Callable[[], Ints | None]], many: int) -> Ints:
    """The rows with the least keys, at least `many` if there are; more if they are equal in all keys."""
    sure = [np.empty(0, np.int64)]
    for key in keys:
        left = many - sum(map(len, sure))
        if len(rows) <= left:
            break
        column = key()
        if column is None:
            continue
        values = column[rows]
        bound = np.partition(values, left - 1)[left - 1]
        sure.append(rows[values < bound])
        rows = rows[values == bound]
    return np.concatenate([*sure, rows])


def first_examples(examples: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The first few of each class: most copies first, then the earliest sent; ties in a fixed order."""
    seen: Counter[str] = Counter()
    found = []
    order = [finding.value for finding in FindingClass]
    for one in sorted(examples, key=lambda one: (order.index(one["finding"]), *_rank(one))):
        seen[one["finding"]] += 1
        if seen[one["finding"]] <= EXAMPLES_PER_CLASS:
            found.append(one)
    return found


def _rank(example: dict[str, Any]) -> tuple[Any, ...]:
    return (
        *(MOST if example[name] is None else -example[name] for name in ("copies", "count")),
        MOST if example["sent_ns"] is None else example["sent_ns"],
        *(nulls_first(example[name]) for name in ("producer", "seq", "partition", "offsets", "detail")),
    )


def nulls_first(value: Any) -> tuple[bool, Any]:
    """A key that sorts None before everything else."""
    return (value is not None, 0 if value is None else value)


def _descending(column: Ints) -> Ints:
    """Greatest first, nulls last."""
    return np.where(column == -MOST - 1, MOST, -column)


def _nulls_last(column: Ints) -> Ints:
    return np.where(column == -MOST - 1, MOST, column)
