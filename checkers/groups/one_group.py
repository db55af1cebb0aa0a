"""Findings about one consumer group alone, for the tests of a user's own consumers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from checkers.groups.rules import OffsetRetention, suspect_rules
from checkers.journals.load import RunJournals, load_run
from harness.model.errors import CheckError, first_line
from harness.model.journal_reader import JournalRow
from harness.model.run import RunMeta
from harness.model.storage import StoragePath, open_parquet, scratch_in

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def group_findings(
    session: Callable[[], SparkSession], meta: RunMeta, folder: StoragePath, *, reads_folder: StoragePath
) -> list[JournalRow]:
    """Findings about the group whose members are the readers in `meta`.

    Args:
        session: gives a session of an engine; called only if the rules find something.
        folder: the journals of the members, as those of readers in a run folder.
        reads_folder: the journal of the final read.

    Returns: rows with the columns of `FINDINGS`.

    Raises:
        JournalError: as `checkers.journals.load.load_run`.
        CheckError: the engine or a rule failed.
    """
    journals = load_run(folder, reads_folder=reads_folder, meta=meta)
    try:
        if not _has_suspects(journals):
            return []
    except Exception as error:  # any error of a rule
        raise _not_judged(folder, first_line(error)) from error
    # PySpark is slow to import, and most groups have no findings.
    from checkers.engine.failures import engine_failures
    from checkers.groups.find import find
    from checkers.journals.views import Scratch, Views

    with engine_failures(folder), scratch_in(folder) as scratch:
        spark = session()
        found = find(Views.of(spark, journals), Scratch(spark, scratch))
        if found.problems:
            raise _not_judged(folder, "; ".join(found.problems))
        return [] if found.findings is None else found.findings.toArrow().to_pylist()


def _has_suspects(journals: RunJournals) -> bool:
    """Whether the rules suspect anything, without an engine, by the rows that `checkers.groups.find` passes
    to them."""
    tables = {
        name: pa.concat_tables([open_parquet(file.path).read() for file in journals.files[name]])
        for name in ("commits", "offsets", "assignments", "live")
    }
    commits, assignments, live = (tables[name] for name in ("commits", "assignments", "live"))
    assigned = pc.is_in(commits["reader"], assignments["reader"].combine_chunks())
    tables["commits"] = commits.append_column("has_assignments", assigned)
    live = live.append_column("at_ns", live["read_ns"]).append_column("first", live["offset"])
    tables["live"] = live.append_column("count", pa.repeat(1, len(live)))
    named = [table.append_column("journal", pa.repeat(name, len(table))) for name, table in tables.items()]
    rows = pa.concat_tables(named, promote_options="permissive")
    retention = OffsetRetention.of(journals.meta)
    return any(
        len(table)
        for partition in rows["partition"].unique()
        for table in suspect_rules(rows.filter(pc.equal(rows["partition"], partition)), retention)
    )


def _not_judged(folder: StoragePath, reason: str) -> CheckError:
    return CheckError("the groups of the application cannot be judged", where=str(folder), found=reason)
