"""Lists of ids as users have them, in CSV or TSV with a header, made into Parquet for the engine."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from harness.model.errors import BadInput, closest
from harness.model.journal import SendOutcome

_SEPARATORS = ("\t", ",", ";", "|")
_BLOCK_BYTES = 8 << 20
_SHOWN = 80
_MOST_WORDS = 20
"""Words of a column of outcomes that are shown."""
WORDS: dict[SendOutcome, tuple[str, ...]] = {
    SendOutcome.ACKED: (
        "ok",
        "acked",
        "ack",
        "acknowledged",
        "success",
        "succeeded",
        "sent",
        "delivered",
        "true",
    ),
    SendOutcome.INDETERMINATE: (
        *(
            "failed",
            "failure",
            "fail",
            "error",
            "timeout",
            "timed_out",
            "timed out",
            "unknown",
            "indeterminate",
        ),
        *("pending", "false", "nok", "exception", ""),
    ),
    SendOutcome.REJECTED: ("rejected", "refused"),
}
"""Outcomes as they are usually written, in lower case."""


@dataclass(frozen=True, slots=True)
class LedgerRead:
    """The rows that were written, and what is wrong with others of the file."""

    rows: int
    line: str
    problems: tuple[str, ...]


def write_ids(
    path: Path, column: str, target: Path, words: Mapping[str, str] | None = None, outcome: str | None = None
) -> LedgerRead:
    """Write the ids of a file, and their outcomes unless `words` is None, into a new Parquet file.

    Args:
        column: the column of the ids.
        words: outcome by word in lower case.
        outcome: the column of the outcomes; None: all sends were acknowledged.

    Raises:
        BadInput: the file cannot be read, lacks a column, or has outcomes that are not in `words`.
    """
    separator, names = _header(path)
    wanted = [_column(path, names, name) for name in (column, *([outcome] if outcome else []))]
    damaged: Counter[str] = Counter()

    def leave_out(row: pa_csv.InvalidRow) -> str:
        damaged[str(row.text)[:_SHOWN] if not damaged else next(iter(damaged))] += 1
        return "skip"

    fields = [pa.field("id", pa.string())] + ([pa.field("outcome", pa.string())] if words is not None else [])
    rows = empty = 0
    strange: dict[str, None] = {}
    with (
        BadInput.for_os_errors(
            "a list of ids cannot be read", where=path, next_step="name a CSV or TSV file"
        ),
        _arrow_errors(path),
        pa_csv.open_csv(
            path,
            read_options=pa_csv.ReadOptions(block_size=_BLOCK_BYTES),
            parse_options=pa_csv.ParseOptions(
                delimiter=separator, newlines_in_values=True, invalid_row_handler=leave_out
            ),
            convert_options=pa_csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                include_columns=list(dict.fromkeys(wanted)),
                strings_can_be_null=False,
            ),
        ) as reader,
        pq.ParquetWriter(target, pa.schema(fields), compression="zstd") as writer,
    ):
        for batch in reader:
            ids = pc.utf8_trim_whitespace(batch.column(wanted[0]))
            columns = [ids]
            if words is not None and outcome is None:
                columns.append(pa.repeat(SendOutcome.ACKED.value, len(ids)))
            elif words is not None:
                outcomes, unknown = _outcomes(batch.column(wanted[1]), words)
                strange |= dict.fromkeys(unknown)
                columns.append(outcomes)
            table = pa.table(columns, schema=pa.schema(fields))
            whole = pc.not_equal(ids, "")
            empty += len(ids) - (pc.sum(whole).as_py() or 0)
            rows += table.num_rows
            writer.write_table(table.filter(whole))
    if strange:
        raise _strange_outcomes(path, str(outcome), strange)
    problems = [f"{path.name}: {empty:,} rows have no id in the column {column}"] if empty else []
    if damaged:
        first = next(iter(damaged))
        problems.append(f"{path.name}: {damaged.total():,} rows do not have {len(names)} columns: {first!r}")
    return LedgerRead(rows, f"{path}: {rows:,} rows, column {column}", tuple(problems))


def column_names(path: Path) -> tuple[str, ...]:
    """The names in the header of a file.

    Raises:
        BadInput: it cannot be read.
    """
    return _header(path)[1]


def _header(path: Path) -> tuple[str, tuple[str, ...]]:
    """What stands between the columns of a file, and their names."""
    with (
        BadInput.for_os_errors(
            "a list of ids cannot be read", where=path, next_step="name a CSV or TSV file"
        ),
        path.open("rb") as file,
    ):
        line = file.readline(1 << 20)
    try:
        text = line.decode("utf-8-sig").strip("\r\n")
    except UnicodeDecodeError:
        text = ""
    if not text.strip() or text.lstrip()[0] in "{[":
        raise BadInput(
            "this is no list of ids",
            where=str(path),
            expected="a CSV or TSV file in UTF-8, whose first line names the columns",
            found="JSON" if text.lstrip()[:1] in ("{", "[") else "no text in its first line",
            next_step="`jq -r '[.order_id] | @csv'` makes rows of JSON lines; put the name before them",
        )
    split = {sign: next(csv.reader([text], delimiter=sign), []) for sign in _SEPARATORS}
    separator = max(split, key=lambda sign: len(split[sign]))
    return separator, tuple(name.strip() for name in split[separator])


@contextmanager
def _arrow_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except pa.ArrowInvalid as error:
        raise BadInput(
            "a list of ids cannot be read",
            where=str(path),
            expected="CSV or TSV in UTF-8",
            found=str(error).splitlines()[0][:200],
            next_step="correct the line, or export the list again",
        ) from None


def _column(path: Path, names: Sequence[str], wanted: str) -> str:
    if names.count(wanted) == 1:
        return wanted
    near = closest(wanted, names)
    raise BadInput(
        f"this file has {'several columns' if wanted in names else 'no column'} {wanted!r}",
        where=f"{path}, line 1",
        expected="a first line that names the columns, among them that of the ids",
        found=", ".join(names[:20]),
        next_step=f"did you mean {near!r}?"
        if near
        else "name another column, or put a header before the rows",
    )


def _outcomes(column: pa.Array, words: Mapping[str, str]) -> tuple[pa.Array, list[str]]:
    """The outcome of each word, and the words that are not known."""
    coded = pc.dictionary_encode(pc.utf8_lower(pc.utf8_trim_whitespace(column)))
    known = [words.get(str(word)) for word in coded.dictionary.to_pylist()]
    unknown = [str(word) for word in coded.dictionary.to_pylist() if str(word) not in words]
    return pa.array(known, pa.string()).take(coded.indices), unknown[:_MOST_WORDS]


def _strange_outcomes(path: Path, column: str, strange: Iterable[str]) -> BadInput:
    return BadInput(
        "these outcomes are not known",
        where=f"{path}, column {column}",
        expected="; ".join(f"{outcome}: {', '.join(filter(None, some))}" for outcome, some in WORDS.items()),
        found=", ".join(list(strange)[:_MOST_WORDS]),
        next_step="say what they mean: --acked WORD (acknowledged), --failed WORD (may be there or not), "
        "--rejected WORD (must not be there)",
    )
