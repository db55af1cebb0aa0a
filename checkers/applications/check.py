"""The check of an application's outputs, as the registry lists it, with its journals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from checkers.applications.classes import CLASSES
from checkers.applications.find import find
from checkers.applications.inputs import NS_OF_MS
from checkers.base import SubjectCheck
from checkers.int64 import INT64_MAX
from checkers.journals.footers import row_count
from checkers.journals.journal import JournalSpec, Readable
from checkers.journals.views import Views
from harness.model import application_journal, journal
from harness.model.run import RunMeta


def missing(meta: RunMeta, parts: Mapping[str, Readable]) -> Iterator[str]:
    """What the journal of outputs lacks of the records that the output had."""
    application, outputs = meta.application, parts["outputs"]
    if application is None or not application.read_complete or outputs.problems:
        return
    # An output of several inputs has as many rows.
    rows = row_count(outputs.files)
    if rows < application.records:
        yield f"the outputs journal holds {rows:,} rows, the output had {application.records:,} records"


def active(views: Views) -> DataFrame | None:
    """When outputs were written, by their own timestamps; None: there are none."""
    if not views.files["outputs"]:
        return None
    ms = F.col("timestamp_ms")
    at = F.when(ms.between(0, INT64_MAX // NS_OF_MS), ms * NS_OF_MS)
    return views.journal("outputs").select(at.alias("begun"), at.alias("ended")).where("begun is not null")


CHECK = SubjectCheck(
    find,
    CLASSES,
    journals={
        "outputs": JournalSpec(
            application_journal.OUTPUTS_DIR,
            application_journal.OUTPUTS,
            known={"state": frozenset({*journal.ReadState, application_journal.UNMAPPED})},
            names_topics=True,
        ),
        "handler_failures": JournalSpec(
            application_journal.HANDLER_FAILURES_DIR, application_journal.HANDLER_FAILURES
        ),
        "application": JournalSpec(
            application_journal.APPLICATION_DIR, application_journal.APPLICATION_EVENTS
        ),
    },
    missing=missing,
    active=active,
)
