"""A run folder from what Kafka's own VerifiableProducer and VerifiableConsumer printed.

docs/how-to/other-tools.md says what such a history does not contain. Everything that is in doubt becomes
a problem of the run, so that its verdict is `unknown` with the reason: missing evidence never makes a run
`valid`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import reduce
from operator import or_
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from harness.interop.import_summary import RUN_ID, Reads, VerifiableImport, metadata, summarize_import
from harness.interop.run_folder import new_run_folder
from harness.model import journal
from harness.model.errors import BadInput
from harness.model.run import RunMeta
from workloads.interop.foreign_reads import FINAL, ForeignReads, Once
from workloads.interop.foreign_sends import ForeignSends
from workloads.interop.verifiable_events import Lines


@dataclass(frozen=True, slots=True)
class Imported:
    """The metadata of the run that was written, and a line about each imported file."""

    meta: RunMeta
    file_lines: tuple[str, ...]


def import_run(request: VerifiableImport, folder: Path) -> Imported:
    """Write the run folder; memory grows by a few bytes per record.

    Raises:
        BadInput: the folder is not empty, a file cannot be read or holds nothing of these tools, two
            producers share a prefix, or a consumer ran without --verbose.
    """
    with new_run_folder(folder) as scratch:
        return _import(request, scratch)


def _import(request: VerifiableImport, folder: Path) -> Imported:
    sends = [
        (path, ForeignSends(request.acks, topic=request.topic, keys=request.keys))
        for path in request.producers
    ]
    with ExitStack() as stack:
        parts = _parts(stack, folder / journal.SENDS_DIR, journal.SENDS)
        for path, one in sends:
            one.topic = one.topic or sends[0][1].topic
            for table in one.tables(_lines(path)):
                parts.write_table(table)
            _refuse_nothing(path, one.lines, "VerifiableProducer")
        topic = next((one.topic for _, one in sends if one.topic), None)
        _refuse_shared(sends)
        reads, finals, records = _read(request, folder, topic)
        read_to = reduce(or_, (one.read_to for _, one in [*reads, *finals]), Counter[int]())
        for _, one in sends:
            one.topic = one.topic or topic
            for table in one.unreported(read_to):
                parts.write_table(table)
    account = summarize_import(sends, [*reads, *finals])
    meta = metadata(request, topic or "", [one for _, one in sends], reads, finals, records, account)
    meta.save(folder)
    return Imported(meta, account.file_lines)


def _lines(path: Path) -> Iterable[bytes]:
    with (
        BadInput.for_os_errors(
            "a file to import cannot be read",
            where=path,
            next_step="name files that hold what VerifiableProducer or VerifiableConsumer printed",
        ),
        path.open("rb") as file,
    ):
        yield from file


def _parts(stack: ExitStack, folder: Path, schema: pa.Schema) -> pq.ParquetWriter:
    folder.mkdir(parents=True, exist_ok=True)
    return stack.enter_context(pq.ParquetWriter(folder / "part-00000.parquet", schema, compression="zstd"))


def _refuse_nothing(path: Path, lines: Lines, tool: str) -> None:
    if not lines.events:
        raise BadInput(
            f"nothing in this file was printed by {tool}",
            where=str(path),
            expected='lines such as {"timestamp":...,"name":"startup_complete"}',
            found=f"{lines.other:,} other lines, {lines.damaged:,} damaged ones",
            next_step="name the file that holds the tool's standard output",
        )


def _refuse_shared(sends: list[tuple[Path, ForeignSends]]) -> None:
    """Refuse two files with the same prefix: their records could not be distinguished."""
    owner: dict[int, Path] = {}
    for path, one in sends:
        for producer in one.numbers:
            if producer in owner:
                raise BadInput(
                    "two producers wrote the same values",
                    where=f"{owner[producer]} and {path}",
                    expected="a --value-prefix of its own for each producer",
                    found=f"both have the prefix {producer}" if producer else "both have no prefix, or 0",
                    next_step="import them as two runs, or run the producers again with prefixes",
                )
            owner[producer] = path


def _read(request: VerifiableImport, folder: Path, topic: str | None) -> tuple[Reads, Reads, int]:
    """Write all readers' journals; returns live readers, final readers, and rows of the final read."""
    once = Once()
    records = 0
    names = _names(request.consumers)
    live = [
        (path, ForeignReads(name, RUN_ID, topic=topic))
        for path, name in zip(request.consumers, names, strict=True)
    ]
    finals = [(path, ForeignReads(FINAL, RUN_ID, topic=topic)) for path in request.finals]
    with ExitStack() as stack:
        final = _parts(stack, folder / journal.READS_DIR, journal.READS)
        for path, one in [*live, *finals]:
            is_final = one.reader == FINAL
            own = None if is_final else _parts(stack, folder / journal.LIVE_DIR / one.reader, journal.READS)
            for table in one.tables(_lines(path)):
                if own is not None:
                    own.write_table(table)
                if is_final or not finals:
                    fresh = once.fresh(table)
                    final.write_table(fresh)
                    records += fresh.num_rows
            _refuse_nothing(path, one.lines, "VerifiableConsumer")
            _refuse_silent(path, one)
        assignments = [row for _, one in live for row in one.assignments]
        commits = [row for _, one in live for row in one.commits]
        for name, schema, rows in (
            (journal.ASSIGNMENTS_DIR, journal.ASSIGNMENTS, assignments),
            (journal.COMMITS_DIR, journal.COMMITS, commits),
        ):
            if live:
                _parts(stack, folder / name, schema).write_table(pa.Table.from_pylist(rows, schema=schema))
    return live, finals, records


def _refuse_silent(path: Path, one: ForeignReads) -> None:
    if one.unlisted and not one.records:
        raise BadInput(
            "this consumer did not print which records it received",
            where=str(path),
            expected='a "record_data" line for each record',
            found=f"{one.unlisted:,} records, which are only counted",
            next_step="run VerifiableConsumer with --verbose",
        )


def _names(paths: tuple[Path, ...]) -> list[str]:
    """Names of readers from files' names, each once, fit for a folder."""
    found = [FINAL]
    for path in paths:
        stem = re.sub(r"[^A-Za-z0-9_-]", "-", path.stem)
        name, number = stem, 2
        while name in found:
            name, number = f"{stem}-{number}", number + 1
        found.append(name)
    return found[1:]
