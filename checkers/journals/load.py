"""The journals of a saved run folder: which files there are, what is missing, and what they hold that this
version does not know: reasons for an unknown verdict."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pyarrow as pa

from checkers.journals.footers import JournalFile, distinct_values, row_count
from checkers.journals.journal import Files, JournalSpec, Readable
from harness.model import group_journal, id_journal, journal
from harness.model.errors import JournalError, first_line
from harness.model.journal import ReadState, SendOutcome
from harness.model.run import ReaderInfo, RunMeta
from harness.model.storage import StoragePath, matching

_NEXT = "restore the file from a copy of the run folder, or run the experiment again"
_PARTS = "part-*.parquet"
JOURNALS = {
    "sends": JournalSpec(journal.SENDS_DIR, journal.SENDS, names_topics=True),
    "opened": JournalSpec(journal.SENDS_DIR, journal.SENDS, names_topics=True),
    "final": JournalSpec(journal.READS_DIR, journal.READS, names_topics=True),
    "committed": JournalSpec(journal.COMMITTED_DIR, journal.READS, names_topics=True),
    "txns": JournalSpec(journal.TRANSACTIONS_DIR, journal.TRANSACTIONS),
    "assignments": JournalSpec(group_journal.ASSIGNMENTS_DIR, group_journal.ASSIGNMENTS),
    "commits": JournalSpec(group_journal.COMMITS_DIR, group_journal.COMMITS),
    "offsets": JournalSpec(group_journal.OFFSETS_DIR, group_journal.OFFSETS),
    "samples": JournalSpec(journal.SAMPLES_DIR, journal.SAMPLES),
    "replicas": JournalSpec(journal.REPLICAS_DIR, journal.REPLICAS),
    "live": JournalSpec(journal.LIVE_DIR, journal.READS, names_topics=True),
}
"""The journals of every run. `opened` are sends that a crash left open, `final` is the final read,
`committed` that of committed records, `live` what live readers got, in a folder each."""
READS = ("final", "committed", "live")
Missing = Callable[[RunMeta, Mapping[str, Readable]], Iterable[str]]
"""What journals lack that the metadata mention: sentences, from the metadata and the journals by name."""


@dataclass(frozen=True)
class RunJournals:
    """The journals of one run: its metadata, live readers and readable files by journal, whose columns are
    those of `journals`. `problems` says what is missing; each is a reason for an unknown verdict."""

    meta: RunMeta
    readers: tuple[ReaderInfo, ...]
    journals: Mapping[str, JournalSpec]
    files: Mapping[str, Files]
    problems: tuple[str, ...]


def load_run(
    folder: StoragePath,
    *,
    reads_folder: StoragePath | None = None,
    meta: RunMeta | None = None,
    also: Mapping[str, JournalSpec] | None = None,
    missing: Iterable[Missing] = (),
) -> RunJournals:
    """Open the journals of a run folder; the journal of the final read, or the metadata, may be elsewhere.

    Every Parquet file's footer is read first: a file without one (truncated, not Parquet) is left out and
    named in `problems`. A send in `sends/open.parquet`, which a crash leaves, is `indeterminate` unless a
    part file holds the same send. Files still being written (`*.tmp`) are ignored. Journals other than sends
    and reads may be absent; it is a problem if the run's metadata mention them.

    Args:
        also: journals beside those of every run, by name.
        missing: what these lack.

    Raises:
        JournalError: no run folder, one of another version, no sends journal, a journal of which no file can
            be read, or one with other columns than `harness.model.journal` defines.
    """
    folder = folder.resolve()
    meta = RunMeta.load(folder) if meta is None else meta
    if not (folder / journal.SENDS_DIR).is_dir():
        raise JournalError(
            "the run has no sends journal",
            where=str(folder / journal.SENDS_DIR),
            expected="part-*.parquet files",
            found="no such directory",
            next_step=_NEXT,
        )
    reads_folder = reads_folder or folder / journal.READS_DIR
    journals = {**JOURNALS, **(also or {})}
    parts = {
        name: _parts(
            reads_folder if name == "final" else folder / each_journal.folder,
            each_journal.schema,
            journal.OPEN_SENDS if name == "opened" else _PARTS,
        )
        for name, each_journal in journals.items()
        if name != "live"
    }
    readers = _readers(folder, meta)
    live = {reader: _parts(folder / journal.LIVE_DIR / reader.name, journal.READS) for reader in readers}
    for name in ("sends", "final"):
        if parts[name].problems and not parts[name].files:
            subfolder = JOURNALS[name].folder
            raise JournalError(
                f"no file of the {subfolder} journal can be read",
                where=str(folder / subfolder),
                expected="Parquet files with a footer",
                found=parts[name].problems[0],
                next_step=_NEXT,
            )
    unreadable = [problem for part in (*parts.values(), *live.values()) for problem in part.problems]
    return RunJournals(
        meta=meta,
        readers=readers,
        journals=journals,
        files={name: part.files for name, part in parts.items()}
        | {"live": tuple(file for part in live.values() for file in part.files)},
        problems=(
            *unreadable,
            *_unknown(_missing(meta, parts, live, reads=reads_folder.is_dir())),
            *(problem for of_subject in missing for problem in _unknown(of_subject(meta, parts))),
        ),
    )


def _unknown(problems: Iterable[str]) -> Iterator[str]:
    return (f"{problem}, so the verdict is unknown" for problem in problems)


def _readers(folder: StoragePath, meta: RunMeta) -> tuple[ReaderInfo, ...]:
    """Live readers in the metadata, and those that have only a folder."""
    named = {reader.name: reader for reader in meta.readers}
    folders = [path.name for path in matching(folder / journal.LIVE_DIR, "*") if path.is_dir()]
    return tuple(named.get(name, ReaderInfo(name=name)) for name in sorted({*named, *folders}))


_COUNTED_WITHOUT = {
    "sends": "; records whose sends it held count as phantom",
    "reads": "; acknowledged records that it held count as lost",
}
"""What a file that cannot be read does to the counts of findings."""


def _parts(folder: StoragePath, schema: pa.Schema, pattern: str = _PARTS) -> Readable:
    """The readable files of a journal; only their footers, topics and states are read."""
    files, problems = [], []
    paths = list(matching(folder, pattern))
    # A long run has many files, which Arrow reads beside each other.
    with ThreadPoolExecutor(max_workers=min(8, os.cpu_count() or 1)) as pool:
        opened = zip(paths, pool.map(_opened, paths), strict=True)
    for path, file in opened:
        if isinstance(file, str):
            reason = file + _COUNTED_WITHOUT.get(folder.name, "")
            problems.append(
                f"journal part {folder.name}/{path.name} cannot be read: {reason}, so the verdict is unknown"
            )
            continue
        _check_columns(path, file.schema, schema)
        files.append(file)
    return Readable(tuple(files), tuple(problems))


def _opened(path: StoragePath) -> JournalFile | str:
    """The file, or why it cannot be read."""
    try:
        return JournalFile.open(path)
    except journal.UNREADABLE as error:
        return first_line(error)


def _check_columns(path: StoragePath, found: pa.Schema, schema: pa.Schema) -> None:
    added_to = (
        *(journal.SENDS, journal.TRANSACTIONS, id_journal.SENT_IDS),
        *(group_journal.COMMITS, group_journal.ASSIGNMENTS, group_journal.OFFSETS),
    )
    may_lack = journal.ADDED_COLUMNS if schema in added_to else ()
    for field in schema:
        index = found.get_field_index(field.name)
        if index < 0 and field.name in may_lack:
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


def _missing(
    meta: RunMeta,
    parts: Mapping[str, Readable],
    live: Mapping[ReaderInfo, Readable],
    *,
    reads: bool,
) -> list[str]:
    """What is missing of the journals (`parts`, by their names in `JOURNALS`) and of those of readers
    (`live`); `reads`: there is a folder of the final read."""
    final = meta.final_read
    transactional = "the run is transactional but has no"
    problems = []
    if not reads:
        problems.append("the run has no reads journal (it ended before the final read)")
    elif final is not None and parts["final"].lacks(final.records):
        rows = row_count(parts["final"].files)
        problems.append(f"the reads journal holds {rows:,} records, the final read says {final.records:,}")
    if final is not None and meta.transactional and final.committed_records is None:
        problems.append(f"{transactional} final read of committed records")
    if final is not None and parts["committed"].lacks(final.committed_records):
        rows = row_count(parts["committed"].files)
        problems.append(
            f"the journal of committed records holds {rows:,}, the final read says "
            f"{final.committed_records:,}"
        )
    for reader, readable in live.items():
        if reader not in meta.readers:
            problems.append(f"the metadata do not describe the live reader '{reader.name}'")
        elif reader.closed and readable.lacks(reader.records):
            problems.append(
                f"the journal of live reader '{reader.name}' holds {row_count(readable.files):,} records, "
                f"its reader says {reader.records:,}"
            )
    if meta.transactional and not parts["txns"].files and not parts["txns"].problems:
        problems.append(f"{transactional} transactions journal")
    return problems


def unknown_values(journals: RunJournals, outcomes: Iterable[str]) -> list[str]:
    """Outcomes of sends, and states of values, that this version does not know; `outcomes` are those in the
    sends journal."""
    files = journals.files
    reads = [file for name in READS for file in files[name]]
    return [
        f"the {name} journal holds the {what} '{value}', which this version does not know, "
        "so the verdict is unknown"
        for name, what, values, known in (
            ("sends", "outcome", set(outcomes), frozenset(SendOutcome)),
            ("reads", "state", distinct_values(reads, "state"), frozenset(ReadState)),
            *(
                (name, column, distinct_values(files[name], column), known)
                for name, each_journal in journals.journals.items()
                for column, known in each_journal.known.items()
            ),
        )
        for value in sorted(values - known)
    ]


def unread_sends(journals: RunJournals, sends: int) -> list[str]:
    """Whether the engine read fewer sends than the footers of the files say; `sends` is the number that it
    counted. Sends that a crash left open count once with their report."""
    written = row_count(journals.files["sends"])
    if written <= sends <= written + row_count(journals.files["opened"]):
        return []
    return [f"the engine read {sends:,} sends of {written:,}, so the verdict is unknown"]
