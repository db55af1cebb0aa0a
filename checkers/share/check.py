"""The check of share groups, as the registry lists it, with their journals."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from checkers.base import SubjectCheck
from checkers.journals.journal import JournalSpec
from checkers.journals.views import Views
from checkers.share.classes import CLASSES
from checkers.share.find import find
from harness.model import share_journal


def active(views: Views) -> DataFrame | None:
    """When members were given records; None: they were given none."""
    if not views.files["deliveries"]:
        return None
    at = F.col("acquired_ns")
    return views.journal("deliveries").select(at.alias("begun"), at.alias("ended"))


CHECK = SubjectCheck(
    find,
    CLASSES,
    journals={
        "deliveries": JournalSpec(share_journal.DELIVERIES_DIR, share_journal.DELIVERIES),
        "share_offsets": JournalSpec(share_journal.SHARE_OFFSETS_DIR, share_journal.SHARE_OFFSETS),
        "share_events": JournalSpec(share_journal.SHARE_EVENTS_DIR, share_journal.SHARE_EVENTS),
    },
    active=active,
)
