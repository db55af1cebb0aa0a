"""The summary of an imported history: a line per file, what is in doubt, and its run.json."""

from __future__ import annotations

import platform
from collections import Counter
from dataclasses import dataclass
from functools import reduce
from importlib.metadata import version
from operator import or_
from pathlib import Path

from harness.model.run import FinalRead, PartitionBounds, ReaderInfo, RunMeta, StepInfo
from harness.tools.interop.foreign_deliveries import ForeignDeliveries
from harness.tools.interop.foreign_reads import ForeignReads
from harness.tools.interop.foreign_sends import ForeignSends
from harness.tools.interop.import_acks import Acks
from harness.tools.interop.import_files import ContainerLines
from harness.tools.interop.verifiable_events import LineCounts

RUN_ID = 1
"""Text values contain no run id, so any number serves."""
_MS = 1_000_000

Reads = list[tuple[ContainerLines, ForeignReads]]
Sends = list[tuple[ContainerLines, ForeignSends]]


@dataclass(frozen=True, slots=True)
class VerifiableImport:
    """What to import, and what its files do not contain.

    `finals` are consumers that read everything once the producers were done; without any, all `consumers`
    together make the final read. `complete`: the user states that this read missed nothing. `keys` is the
    producers' --repeating-keys. `share_offsets` says where the share group of `consumers` begins at the end,
    as kafka-share-groups prints it. `acks`,
    `topic` and `partitions` None: derived from the files; acks is `all` where they do not tell.
    """

    producers: tuple[Path, ...]
    consumers: tuple[Path, ...] = ()
    finals: tuple[Path, ...] = ()
    complete: bool = False
    acks: Acks | None = None
    idempotent: bool = False
    topic: str | None = None
    partitions: int | None = None
    keys: int | None = None
    share_offsets: Path | None = None


@dataclass(frozen=True, slots=True)
class ImportSummary:
    """`file_lines` has a line per file, `problems` say why the run proves nothing, `gaps` why its final read
    is not complete."""

    file_lines: tuple[str, ...]
    problems: tuple[str, ...]
    gaps: tuple[str, ...]


def summarize_import(sends: Sends, reads: Reads) -> ImportSummary:
    """Account for every line of every file."""
    file_lines: list[str] = []
    problems: list[str] = []
    gaps: list[str] = []
    for stream, sent in sends:
        odd = [
            (sent.foreign, "values that no such producer writes"),
            (sent.reported_again, "second reports"),
            (sent.of_other_topics, "of other topics"),
        ]
        file_lines.append(_file_line(stream, sent.lines, odd))
        if sent.reported_again:
            problems.append(
                f"{stream.name}: {sent.reported_again:,} sends were reported twice: "
                "their numbers are not unique"
            )
        if sent.foreign:
            problems.append(f"{stream.name}: {sent.foreign:,} values are not numbers as the tool writes them")
        if not sent.numbers:
            problems.append(f"{stream.name} reports no send, so it is not known what it may have sent")
        unclear = sent.unclear_keys()
        if unclear and not sent.ended:
            problems.append(
                f"{stream.name}: it does not show how many keys producer {unclear[0]} repeats: "
                "give --repeating-keys"
            )
    for stream, read in reads:
        left_out = [(read.of_other_topics, "of other topics"), (read.unlisted, "records not listed")]
        file_lines.append(_file_line(stream, read.lines, left_out))
        if read.lines.damaged:
            gaps.append(f"{stream.name}: {read.lines.damaged:,} damaged lines may have reported records")
        if read.unlisted:
            gaps.append(f"{stream.name}: {read.unlisted:,} consumed records are not listed one by one")
    return ImportSummary(tuple(file_lines), tuple(problems), tuple(gaps))


def _file_line(stream: ContainerLines, lines: LineCounts, odd: list[tuple[int, str]]) -> str:
    first = "" if lines.first_damaged is None else f" (the first: line {lines.first_damaged})"
    damaged = (lines.damaged, f"damaged lines{first}")
    counts = [(lines.events, "events"), (lines.other, "other lines"), damaged, *odd]
    shown = [f"{number:,} {what}" for number, what in counts if number]
    shown += [f"without the prefix of {prefix}" for prefix in stream.prefixes]
    shown += ["times without a zone are taken as UTC"] * lines.zoneless
    shown += ["times without a date are taken as of 1970-01-01"] * lines.dateless
    return f"{stream.location}: {', '.join(shown)}"


def _client(lines: list[LineCounts]) -> str:
    """The library of the tools: those of librdkafka write times without a zone."""
    return "librdkafka" if any(counts.zoneless for counts in lines) else "java"


def metadata(
    request: VerifiableImport,
    topic: str,
    sends: list[ForeignSends],
    live: Reads,
    finals: Reads,
    records: int,
    account: ImportSummary,
) -> RunMeta:
    """run.json of an imported history; `records` are the rows of its final read."""
    every: list[ForeignSends | ForeignReads] = [*sends, *(read for _, read in [*live, *finals])]
    begun = min((stream.first_ms for stream in every if stream.first_ms is not None), default=0) * _MS
    ended = max(stream.last_ms for stream in every) * _MS
    wrote = max(sent.last_ms for sent in sends) * _MS
    ends = reduce(or_, (read.ends for _, read in finals or live), Counter[int]())
    partitions = request.partitions or max(ends, default=0) + 1
    bounds = tuple(
        PartitionBounds(
            topic=topic,
            partition=number,
            log_start_offset=0,
            end_offset=ends[number],
            leader=-1,
            leader_epoch=-1,
        )
        for number in range(partitions)
    )
    reasons = account.gaps
    if not request.complete:
        reasons = ("it is not stated that the consumers read everything (--complete)", *reasons)
    return RunMeta(
        run_id=RUN_ID,
        experiment="imported",
        arm=topic or "nothing",
        topic=topic,
        partitions=partitions,
        replication_factor=1,
        acks=request.acks or "all",
        idempotent=request.idempotent,
        client=_client([sent.lines for sent in sends]),
        readers=tuple(
            ReaderInfo(
                name=read.reader,
                group="imported",
                commits="auto" if not read.commits else "manual",
                client=_client([read.lines]),
                records=read.records,
                closed=True,
            )
            for _, read in live
            if not isinstance(read, ForeignDeliveries)
        ),
        versions={"python": platform.python_version(), "kafka-chaos": version("kafka-chaos")},
        started_ns=begun,
        ended_ns=ended,
        steps=(StepInfo(index=0, name="imported", kind="write", started_ns=begun, ended_ns=wrote),),
        final_read=FinalRead(
            complete=not reasons,
            attested=request.complete,
            reasons=reasons,
            bounds=bounds,
            records=records,
            finished_ns=ended,
        ),
        finished=True,
        problems=account.problems,
    )
