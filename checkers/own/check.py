"""The check of ids, as the registry lists it, with their journals, and what gives all evidence its names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from checkers.base import SubjectCheck
from checkers.found import Found
from checkers.journals.journal import JournalSpec, Readable
from checkers.own.classes import CLASSES
from checkers.own.find import find, with_names
from harness.model import id_journal
from harness.model.run import RunMeta

_JOURNALS = {
    "sent_ids": JournalSpec(id_journal.SENT_IDS_DIR, id_journal.SENT_IDS),
    "log_ids": JournalSpec(id_journal.LOG_IDS_DIR, id_journal.LOG_IDS, names_topics=True),
}


def _missing(meta: RunMeta, parts: Mapping[str, Readable]) -> Iterator[str]:
    """A run whose records have ids, and that read its topic, has written those of the log."""
    log = parts["log_ids"]
    if meta.ids is not None and meta.read_began and not log.files and not log.problems:
        yield "the run's records have ids, and there is no journal of those in the log"


CHECK = SubjectCheck(
    lambda _views, _scratch: Found(),
    CLASSES,
    journals=_JOURNALS,
    missing=_missing,
    evidence=with_names,
    afterwards=find,
)
