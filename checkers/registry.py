"""All that a check looks at, and all classes of findings: static lists, in the order in which they are shown.

`kafka-chaos findings` lists the classes. A new one is a function in `classes.py` of its subject's folder,
with its definition, source and example in its docstring.
"""

from __future__ import annotations

from functools import partial

from checkers.applications.check import CHECK as OUTPUTS
from checkers.base import SubjectCheck
from checkers.classes.base import FindingRule
from checkers.deliveries import find as deliveries
from checkers.deliveries.classes import CLASSES as DELIVERIES
from checkers.groups.check import CHECK as GROUPS
from checkers.groups.owed import passed_over
from checkers.journals.load import RunJournals, load_run
from checkers.own.check import CHECK as IDS
from checkers.records.classes import CLASSES as RECORDS
from checkers.replicas.classes import CLASSES as REPLICAS
from checkers.replicas.find import find as find_replicas
from checkers.share.check import CHECK as SHARE
from checkers.transactions.check import CHECK as TRANSACTIONS
from harness.model.storage import StoragePath

find_deliveries = partial(deliveries.find, passed_over=passed_over)
"""What readers got, with what groups passed over."""
SUBJECTS = (
    OUTPUTS,
    SubjectCheck(find_deliveries, DELIVERIES),
    GROUPS,
    SHARE,
    TRANSACTIONS,
    SubjectCheck(find_replicas, REPLICAS),
    IDS,
)
"""The checks of all subjects but the records themselves."""

CLASSES: tuple[FindingRule, ...] = (*RECORDS, *(rule for subject in SUBJECTS for rule in subject.classes))
"""All classes of findings; of one subject, in the order in which they apply."""


def load_whole_run(folder: StoragePath, *, reads_folder: StoragePath | None = None) -> RunJournals:
    """The journals of a run folder with those of all subjects: `checkers.journals.load.load_run`."""
    return load_run(
        folder,
        reads_folder=reads_folder,
        also={name: journal for subject in SUBJECTS for name, journal in subject.journals.items()},
        missing=[subject.missing for subject in SUBJECTS],
    )
