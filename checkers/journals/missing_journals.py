"""Journals that are missing though the run's metadata mention them: reasons for an unknown verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from checkers.journals.footers import JournalFile
from harness.model.run import ReaderInfo, RunMeta


@dataclass(frozen=True)
class ReadableJournal:
    """The readable files of one journal, and why the others cannot be read."""

    files: tuple[JournalFile, ...]
    problems: tuple[str, ...]

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)


def missing_reads(
    meta: RunMeta, there: bool, reads: ReadableJournal, committed: ReadableJournal
) -> list[str]:
    final = meta.final_read
    problems = []
    if not there:
        problems.append(
            "the run has no reads journal (it ended before the final read), so the verdict is unknown"
        )
    elif final is not None and not reads.problems and reads.rows != final.records:
        problems.append(
            f"the reads journal holds {reads.rows:,} records, the final read says {final.records:,}, "
            "so the verdict is unknown"
        )
    if final is not None and meta.transactional and final.committed_records is None:
        problems.append(
            "the run is transactional but has no final read of committed records, so the verdict is unknown"
        )
    expected = final.committed_records if final is not None else None
    if expected is not None and not committed.problems and committed.rows != expected:
        problems.append(
            f"the journal of committed records holds {committed.rows:,}, the final read says {expected:,}, "
            "so the verdict is unknown"
        )
    return problems


def missing_live(
    meta: RunMeta, readers: tuple[ReaderInfo, ...], live: Sequence[ReadableJournal]
) -> list[str]:
    problems = []
    known = {reader.name for reader in meta.readers}
    for reader, parts in zip(readers, live, strict=True):
        if reader.name not in known:
            problems.append(
                f"the metadata do not describe the live reader '{reader.name}', so the verdict is unknown"
            )
        elif reader.records != parts.rows and reader.closed and not parts.problems:
            problems.append(
                f"the journal of live reader '{reader.name}' holds {parts.rows:,} records, its reader says "
                f"{reader.records:,}, so the verdict is unknown"
            )
    return problems


def missing_outputs(meta: RunMeta, outputs: ReadableJournal) -> list[str]:
    application = meta.application
    if application is None or outputs.problems or not application.read_complete:
        return []
    # An output of several inputs has as many rows.
    if outputs.rows >= application.records:
        return []
    return [
        f"the outputs journal holds {outputs.rows:,} rows, the output had {application.records:,} records, "
        "so the verdict is unknown"
    ]
