"""The journals of a saved run folder: which files there are, and what is missing."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from checkers.journals.footers import JournalFile
from checkers.journals.missing_journals import (
    ReadableJournal,
    missing_live,
    missing_outputs,
    missing_reads,
)
from harness.model.errors import JournalError
from harness.model.journal import (
    ADDED_COLUMNS,
    APPLICATION_DIR,
    APPLICATION_EVENTS,
    ASSIGNMENTS,
    ASSIGNMENTS_DIR,
    COMMITS,
    COMMITS_DIR,
    COMMITTED_DIR,
    LIVE_DIR,
    OFFSETS,
    OFFSETS_DIR,
    OPEN_SENDS,
    OUTPUTS,
    OUTPUTS_DIR,
    READS,
    READS_DIR,
    REPLICAS,
    REPLICAS_DIR,
    SAMPLES,
    SAMPLES_DIR,
    SENDS,
    SENDS_DIR,
    TRANSACTIONS,
    TRANSACTIONS_DIR,
    UNREADABLE,
)
from harness.model.run import ReaderInfo, RunMeta
from harness.model.share_journal import (
    DELIVERIES,
    DELIVERIES_DIR,
    SHARE_EVENTS,
    SHARE_EVENTS_DIR,
    SHARE_OFFSETS,
    SHARE_OFFSETS_DIR,
)
from harness.model.storage import StoragePath, matching

_NEXT = "restore the file from a copy of the run folder, or run the experiment again"


@dataclass(frozen=True)
class Journals:
    """The readable files of a run, by journal; `live` has those of each reader of `RunJournals.readers`."""

    sends: tuple[JournalFile, ...] = ()
    opened: tuple[JournalFile, ...] = ()
    final: tuple[JournalFile, ...] = ()
    committed: tuple[JournalFile, ...] = ()
    txns: tuple[JournalFile, ...] = ()
    live: tuple[tuple[JournalFile, ...], ...] = ()
    assignments: tuple[JournalFile, ...] = ()
    commits: tuple[JournalFile, ...] = ()
    offsets: tuple[JournalFile, ...] = ()
    samples: tuple[JournalFile, ...] = ()
    replicas: tuple[JournalFile, ...] = ()
    outputs: tuple[JournalFile, ...] = ()
    application: tuple[JournalFile, ...] = ()
    deliveries: tuple[JournalFile, ...] = ()
    share_offsets: tuple[JournalFile, ...] = ()
    share_events: tuple[JournalFile, ...] = ()

    @property
    def rows(self) -> int:
        """Number of rows in the journals of records."""
        parts = (self.sends, self.opened, self.final, self.committed, *self.live, self.replicas, self.outputs)
        return sum(file.rows for files in parts for file in files)


@dataclass(frozen=True)
class RunJournals:
    """The journals of one run: its metadata, live readers and readable files. `problems` says what is
    missing; each is a reason for an unknown verdict."""

    meta: RunMeta
    readers: tuple[ReaderInfo, ...]
    files: Journals
    problems: tuple[str, ...]


def load_run(folder: StoragePath, *, reads_folder: StoragePath | None = None) -> RunJournals:
    """Open the journals of a run folder; the journal of the final read may be in another folder.

    Every Parquet file's footer is read first: a file without one (truncated, not Parquet) is left out and
    named in `problems`. A send in `sends/open.parquet`, which a crash leaves, is `indeterminate` unless a
    part file holds the same send. Files still being written (`*.tmp`) are ignored. Journals other than sends
    and reads may be absent; it is a problem if the run's metadata mention them.

    Raises:
        JournalError: no run folder, one of another version, no sends journal, a journal of which no file can
            be read, or one with other columns than `harness.model.journal` defines.
    """
    folder = folder.resolve()
    meta = RunMeta.load(folder)
    if not (folder / SENDS_DIR).is_dir():
        raise JournalError(
            "the run has no sends journal",
            where=str(folder / SENDS_DIR),
            expected="part-*.parquet files",
            found="no such directory",
            next_step=_NEXT,
        )
    sends = _parts(folder / SENDS_DIR, SENDS)
    reads_folder = reads_folder or folder / READS_DIR
    reads = _parts(reads_folder, READS)
    left_open = _parts(folder / SENDS_DIR, SENDS, OPEN_SENDS)
    others = {
        name: _parts(folder / name, schema)
        for name, schema in (
            (COMMITTED_DIR, READS),
            (TRANSACTIONS_DIR, TRANSACTIONS),
            (ASSIGNMENTS_DIR, ASSIGNMENTS),
            (COMMITS_DIR, COMMITS),
            (OFFSETS_DIR, OFFSETS),
            (SAMPLES_DIR, SAMPLES),
            (REPLICAS_DIR, REPLICAS),
            (OUTPUTS_DIR, OUTPUTS),
            (APPLICATION_DIR, APPLICATION_EVENTS),
            (DELIVERIES_DIR, DELIVERIES),
            (SHARE_OFFSETS_DIR, SHARE_OFFSETS),
            (SHARE_EVENTS_DIR, SHARE_EVENTS),
        )
    }
    readers = _readers(folder, meta)
    live = [_parts(folder / LIVE_DIR / reader.name, READS) for reader in readers]
    for parts, name in ((sends, SENDS_DIR), (reads, READS_DIR)):
        if parts.problems and not parts.files:
            raise JournalError(
                f"no file of the {name} journal can be read",
                where=str(folder / name),
                expected="Parquet files with a footer",
                found=parts.problems[0],
                next_step=_NEXT,
            )
    problems = [
        problem for parts in (sends, left_open, reads, *others.values(), *live) for problem in parts.problems
    ]
    problems += missing_reads(meta, reads_folder.is_dir(), reads, others[COMMITTED_DIR])
    problems += missing_live(meta, readers, live)
    problems += missing_outputs(meta, others[OUTPUTS_DIR])
    if meta.transactional and not others[TRANSACTIONS_DIR].files and not others[TRANSACTIONS_DIR].problems:
        problems.append("the run is transactional but has no transactions journal, so the verdict is unknown")
    return RunJournals(
        meta=meta,
        readers=readers,
        files=Journals(
            sends=sends.files,
            opened=left_open.files,
            final=reads.files,
            committed=others[COMMITTED_DIR].files,
            txns=others[TRANSACTIONS_DIR].files,
            live=tuple(parts.files for parts in live),
            assignments=others[ASSIGNMENTS_DIR].files,
            commits=others[COMMITS_DIR].files,
            offsets=others[OFFSETS_DIR].files,
            samples=others[SAMPLES_DIR].files,
            replicas=others[REPLICAS_DIR].files,
            outputs=others[OUTPUTS_DIR].files,
            application=others[APPLICATION_DIR].files,
            deliveries=others[DELIVERIES_DIR].files,
            share_offsets=others[SHARE_OFFSETS_DIR].files,
            share_events=others[SHARE_EVENTS_DIR].files,
        ),
        problems=tuple(problems),
    )


def _readers(folder: StoragePath, meta: RunMeta) -> tuple[ReaderInfo, ...]:
    """Live readers in the metadata, and those that have only a folder."""
    named = {reader.name: reader for reader in meta.readers}
    there = [path.name for path in matching(folder / LIVE_DIR, "*") if path.is_dir()]
    return tuple(named.get(name, ReaderInfo(name=name)) for name in sorted({*named, *there}))


_COUNTED_WITHOUT = {
    "sends": "; records whose sends it held count as phantom",
    "reads": "; acknowledged records that it held count as lost",
}
"""What a file that cannot be read does to the counts of findings."""


def _parts(folder: StoragePath, schema: pa.Schema, pattern: str = "part-*.parquet") -> ReadableJournal:
    """The readable files of a journal; only their footers are read."""
    files, problems = [], []
    for path in matching(folder, pattern):
        try:
            file = JournalFile.open(path)
            found = file.footer.schema.to_arrow_schema()
        except UNREADABLE as error:
            reason = str(error).splitlines()[0]
            name = f"{folder.name}/{path.name}"
            then = _COUNTED_WITHOUT.get(folder.name, "")
            problems.append(f"journal part {name} cannot be read: {reason}{then}, so the verdict is unknown")
            continue
        _check_columns(path, found, schema)
        files.append(file)
    return ReadableJournal(tuple(files), tuple(problems))


def _check_columns(path: StoragePath, found: pa.Schema, schema: pa.Schema) -> None:
    for field in schema:
        index = found.get_field_index(field.name)
        if index < 0 and field.name in ADDED_COLUMNS and schema in (COMMITS, ASSIGNMENTS):
            continue
        kind = None if index < 0 else _without_encoding(found.field(index).type)
        if kind != field.type:
            raise JournalError(
                "a journal does not have the expected columns",
                where=f"{path}, column {field.name}",
                expected=str(field.type),
                found="no such column" if kind is None else str(kind),
                next_step="check it with the version that wrote it, or run the experiment again",
            )


def _without_encoding(kind: pa.DataType) -> pa.DataType:
    """A type without the encoding that Arrow remembers in the file (dictionary, large offsets)."""
    if pa.types.is_dictionary(kind):
        return _without_encoding(kind.value_type)
    if pa.types.is_large_string(kind):
        return pa.string()
    return pa.binary() if pa.types.is_large_binary(kind) else kind
