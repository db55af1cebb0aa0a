"""A run folder from what Kafka's own verifiable tools printed, and others of their kind (`import_files`).

docs/how-to/other-tools.md says what such a history does not contain. Everything that is in doubt becomes
a problem of the run, so that its verdict is `unknown` with the reason: missing evidence never makes a run
`valid`.
"""

from __future__ import annotations

import re
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from harness.model import group_journal, journal
from harness.model.errors import BadInput
from harness.model.run import RunMeta
from harness.model.share_journal import DELIVERIES, DELIVERIES_DIR
from harness.tools.interop.foreign_deliveries import ForeignDeliveries
from harness.tools.interop.foreign_reads import FINAL, ForeignReads, Once
from harness.tools.interop.foreign_sends import ForeignSends
from harness.tools.interop.import_acks import acks_of
from harness.tools.interop.import_files import (
    CONSUMER_TOOL,
    PRODUCER_TOOL,
    SHARE_TOOL,
    ContainerLines,
    streams_of,
)
from harness.tools.interop.import_share import described_group, share_group
from harness.tools.interop.import_summary import (
    RUN_ID,
    Reads,
    Sends,
    VerifiableImport,
    metadata,
    summarize_import,
)
from harness.tools.interop.run_folder import new_run_folder
from harness.tools.interop.table_dumps import TABLE
from harness.tools.interop.topic_dumps import CONSOLE, JSON_DUMP, KCAT


@dataclass(frozen=True, slots=True)
class Imported:
    """The metadata of the run that was written, and a line about each imported file."""

    meta: RunMeta
    file_lines: tuple[str, ...]


def import_run(request: VerifiableImport, folder: Path) -> Imported:
    """Write the run folder; memory grows by a few bytes per record.

    Raises:
        BadInput: the folder is not empty, a file cannot be read or holds nothing of these tools, two
            producers share a prefix, the sends contradict `acks`, a consumer ran without --verbose, or a dump
            lacks what is needed.
    """
    with new_run_folder(folder) as scratch:
        return _import(request, scratch)


def _import(request: VerifiableImport, folder: Path) -> Imported:
    group, offsets = described_group(request.share_offsets)
    with ExitStack() as stack:
        streams = [
            stream for path in request.producers for stream in streams_of(path, (PRODUCER_TOOL,), stack)
        ]
        acks, acks_lines = acks_of(streams, request.acks)
        sends = [(stream, ForeignSends(acks, topic=request.topic, keys=request.keys)) for stream in streams]
        parts = _parts(stack, folder / journal.SENDS_DIR, journal.SENDS)
        for stream, sent in sends:
            sent.topic = sent.topic or sends[0][1].topic
            for table in sent.tables(stream.lines()):
                parts.write_table(table)
        topic = next((sent.topic for _, sent in sends if sent.topic), None)
        _refuse_shared(sends)
        wrote_ms = max(sent.last_ms for _, sent in sends)
        reads, finals, records = _read(request, folder, topic, wrote_ms, group, stack)
        keyed = any(numbers.highest_key >= 0 for _, sent in sends for numbers in sent.numbers.values())
        if keyed and (keyless := [(stream, read.keyless) for stream, read in finals if read.keyless]):
            # Each record would be another one than was sent.
            found = f"{keyless[0][1]:,} records without keys, while the producers wrote keys"
            next_step = "print the keys, too (kafka-console-consumer: --property print.key=true)"
            raise _dump_lacks(keyless[0][0], "the keys of the records", found, next_step)
        read_to = reduce(or_, (read.read_to for _, read in [*reads, *finals]), Counter[int]())
        for _, sent in sends:
            sent.topic = sent.topic or topic
            for table in sent.unreported(read_to):
                parts.write_table(table)
    account = summarize_import(sends, [*reads, *finals])
    request = replace(request, acks=acks)
    meta = metadata(request, topic or "", [sent for _, sent in sends], reads, finals, records, account)
    members = [read for _, read in reads if isinstance(read, ForeignDeliveries)]
    topic = topic or next((member.topic for member in members if member.topic), "")
    share, problems = share_group(folder, members, group, offsets, topic, meta.ended_ns or 0)
    meta = meta.model_copy(update={"share": share, "problems": (*meta.problems, *problems)})
    meta.save(folder)
    return Imported(meta, (*account.file_lines, *acks_lines))


def _parts(stack: ExitStack, folder: Path, schema: pa.Schema) -> pq.ParquetWriter:
    folder.mkdir(parents=True, exist_ok=True)
    return stack.enter_context(pq.ParquetWriter(folder / "part-00000.parquet", schema, compression="zstd"))


def _refuse_shared(sends: Sends) -> None:
    """Refuse two producers with the same prefix: their records could not be distinguished."""
    owner: dict[int, str] = {}
    for stream, sent in sends:
        for producer in sent.numbers:
            if producer in owner:
                raise BadInput(
                    "two producers wrote the same values",
                    where=f"{owner[producer]} and {stream.location}",
                    expected="a --value-prefix of its own for each producer",
                    found=f"both have the prefix {producer}" if producer else "both have no prefix, or 0",
                    next_step="import them as two runs, or run the producers again with prefixes",
                )
            owner[producer] = stream.location


def _read(
    request: VerifiableImport, folder: Path, topic: str | None, wrote_ms: int, group: str, files: ExitStack
) -> tuple[Reads, Reads, int]:
    """Write all readers' journals; returns live readers, final readers, and rows of the final read."""
    once = Once()
    records = 0
    wanted = (CONSUMER_TOOL, SHARE_TOOL)
    streams = [stream for path in request.consumers for stream in streams_of(path, wanted, files)]
    live: Reads = [
        (stream, _reader_of(stream)(name, RUN_ID, topic=topic))
        for stream, name in zip(streams, _names([stream.reader for stream in streams]), strict=True)
    ]
    finals = [
        (stream, ForeignReads(FINAL, RUN_ID, topic=topic, dump_ms=wrote_ms))
        for path in request.finals
        for stream in streams_of(path, (CONSUMER_TOOL, KCAT, CONSOLE, JSON_DUMP, TABLE), files)
    ]
    if topic is None and (unnamed := [stream for stream, _ in finals if {CONSOLE, TABLE} & stream.tools]):
        found = (
            f"{' and '.join(sorted(unnamed[0].tools))}, and no send of a producer, which would name the topic"
        )
        raise _dump_lacks(unnamed[0], "the name of the topic", found, "give --topic")
    with ExitStack() as stack:
        final = _parts(stack, folder / journal.READS_DIR, journal.READS)
        given = None
        for stream, read in [*live, *finals]:
            is_final, is_share = read.reader == FINAL, isinstance(read, ForeignDeliveries)
            live_folder = folder / journal.LIVE_DIR / read.reader
            own = None if is_final or is_share else _parts(stack, live_folder, journal.READS)
            if is_share and given is None:
                given = _parts(stack, folder / DELIVERIES_DIR, DELIVERIES)
            for table in read.tables(stream.lines()):
                if own is not None:
                    own.write_table(table)
                if isinstance(read, ForeignDeliveries) and given is not None:
                    given.write_table(read.deliveries(group))
                if is_final or not finals:
                    fresh = once.fresh(table)
                    final.write_table(fresh)
                    records += fresh.num_rows
            if isinstance(read, ForeignDeliveries) and given is not None:
                given.write_table(read.deliveries(group, end=True))
            _refuse_silent(stream, read)
        assignments = [row for _, read in live for row in read.assignments]
        commits = [row for _, read in live for row in read.commits]
        for name, schema, rows in (
            (group_journal.ASSIGNMENTS_DIR, group_journal.ASSIGNMENTS, assignments),
            (group_journal.COMMITS_DIR, group_journal.COMMITS, commits),
        ):
            if live:
                _parts(stack, folder / name, schema).write_table(pa.Table.from_pylist(rows, schema=schema))
    return live, finals, records


def _reader_of(stream: ContainerLines) -> type[ForeignReads]:
    return ForeignDeliveries if SHARE_TOOL in stream.tools else ForeignReads


def _refuse_silent(stream: ContainerLines, one: ForeignReads) -> None:
    if one.unlisted and not one.records:
        raise BadInput(
            "this consumer did not print which records it received",
            where=stream.location,
            expected='a "record_data" line for each record',
            found=f"{one.unlisted:,} records, which are only counted",
            next_step="run the tool with --verbose; those of librdkafka and Go list no records, so read the "
            "topic with `kcat -C -J` for --final",
        )


def _dump_lacks(stream: ContainerLines, lacks: str, found: str, next_step: str) -> BadInput:
    what = f"this dump does not contain {lacks}"
    return BadInput(what, where=stream.location, found=found, next_step=next_step)


def _names(wanted: list[str]) -> list[str]:
    """Names of readers, each once, fit for a folder."""
    names = [FINAL]
    for reader in wanted:
        stem = re.sub(r"[^A-Za-z0-9_-]", "-", reader)
        name, number = stem, 2
        while name in names:
            name, number = f"{stem}-{number}", number + 1
        names.append(name)
    return names[1:]
