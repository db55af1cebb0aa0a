"""The result of checking one run (`summary.json`) and of all arms of an experiment (`result.json`)."""

from __future__ import annotations

from enum import StrEnum
from typing import Self

from pydantic import Field

from harness.model.frozen import Frozen
from harness.model.journal import SCHEMA_VERSION
from harness.model.run import RunMeta


class Breaks(StrEnum):
    """When a finding of a class makes the verdict of its run `invalid`. For all but `ALWAYS` and `NEVER`,
    more of them than an explicit promise allows do so too."""

    ALWAYS = "yes"
    WHEN_IDEMPOTENT = "when idempotent"
    WHEN_ORDERED = "when the settings keep the order"
    WHEN_READ_COMMITTED = "when transactions poll committed records only"
    UNLESS_AT_MOST_ONCE = "unless the application promises at-most-once"
    UNLESS_AT_LEAST_ONCE = "unless the application promises at-least-once"
    AS_PROMISED = "as promised"
    NEVER = "no"


class FindingClass(StrEnum):
    """The classes of findings: name, how the verdict words a finding, and when it breaks the verdict: always,
    if nothing else is said; never, if the verdict has no words for it.

    A record is in at most one of the classes about records; those from `invented` on are about outputs of
    applications, deliveries, groups, share groups, transactions and replicas and are counted in addition.
    Classes that always break the verdict are named worst first. The docstrings of their rules define them
    (`checkers/*/classes.py`); `kafka-chaos findings` prints them.
    """

    _value_: str
    breaks: Breaks
    reason: str
    """What follows a number of findings above 1 in a reason of the verdict ("": never a reason)."""

    def __new__(cls, value: str, reason: str = "", breaks: Breaks = Breaks.ALWAYS) -> Self:
        member = str.__new__(cls, value)
        member._value_, member.reason, member.breaks = value, reason, breaks if reason else Breaks.NEVER
        return member

    LOST = "lost", "acknowledged records are lost"
    DUPLICATE = "duplicate", "records are in the log more than once", Breaks.WHEN_IDEMPOTENT
    PHANTOM = "phantom", "records are in the log that this run never sent"
    CORRUPT = "corrupt", "records are corrupt"
    MISPLACED = "misplaced", "records are read from another topic or partition than sent to"
    REJECTED_PRESENT = "rejected_present", "refused records are in the log all the same"
    VANISHED = "vanished", "records are gone from the log after a reader was given them"
    INCONSISTENT_OFFSET = (
        "inconsistent_offset",
        "records are at another offset than acknowledged or read before",
    )
    ABORTED_READ = "aborted_read", "aborted records are given to a reader of committed records"
    TORN_TRANSACTION = (
        "torn_transaction",
        "committed records are missing from a transaction of which others are read",
    )
    REORDERED = "reordered", "records are in the log after one that was sent later", Breaks.WHEN_ORDERED
    RECOVERED = "recovered"
    UNCONFIRMED_ABSENT = "unconfirmed_absent", "unconfirmed records are absent", Breaks.AS_PROMISED
    EXPIRED = "expired"
    COMPACTED = "compacted"
    INVENTED = "invented", "outputs are of no input of this run"
    PREMATURE = "premature", "inputs have outputs that they must not have"
    UNPROCESSED = "unprocessed", "inputs have no output", Breaks.UNLESS_AT_MOST_ONCE
    REPROCESSED = "reprocessed", "inputs have more outputs than they should", Breaks.UNLESS_AT_LEAST_ONCE
    REORDERED_OUTPUT = (
        "reordered_output",
        "inputs have their output after that of a later input, though the application promises an order",
    )
    SKIPPED = "skipped", "times a reader passed over records that the log holds"
    NONMONOTONIC_READ = "nonmonotonic_read", "times a reader's offsets went back without a new assignment"
    REDELIVERED = "redelivered"
    COMMIT_LOST = "commit_lost", "committed offsets of a group are lost"
    COMMIT_AHEAD = "commit_ahead", "offsets are committed beyond what the members of the group had processed"
    TWO_OWNERS = (
        "two_owners",
        "times two members of a group owned a partition at once and were given its records",
    )
    FOREIGN_COMMIT = "foreign_commit", "commits are accepted from a member that does not own the partition"
    COMMIT_STALE = "commit_stale"
    SHARE_LOST = "share_lost", "times a share group passed over records that none of its members was given"
    SHARE_AGAIN = (
        "share_again",
        "records are given to a share group again after they were accepted or rejected",
    )
    SHARE_ARCHIVED_UNSEEN = (
        "share_archived_unseen",
        "records are finished for a share group without being accepted, rejected or at the delivery limit",
    )
    SHARE_STUCK = "share_stuck", "times records of a share group are given to nobody any more"
    SHARE_DOUBLE_LEASE = "share_double_lease", "records are held by two members of a share group at once"
    SHARE_OVER_LIMIT = (
        "share_over_limit",
        "records are given to a share group more often than its delivery limit allows",
    )
    SHARE_REDELIVERED = "share_redelivered"
    CIRCULAR_INFORMATION_FLOW = (
        "circular_information_flow",
        "times transactions have polled each other's records in a circle",
        Breaks.WHEN_READ_COMMITTED,
    )
    WRITE_CYCLE = "write_cycle"
    FRACTURED_READ = "fractured_read"
    DIVERGED = "diverged", "times replicas hold different records at an offset below the high watermark"


FALSE_REPORTS, DOUBTFUL_REPORTS = "false", "doubtful"
"""Of success reports that name one offset: some are false; or they may be, since it is not known how many
leader epochs there were."""
ABORTED_INPUT = "aborted"
INPUT_NOT_IN_LOG = "not in the log"
"""The values of `place` for a premature output: what is wrong with its input."""


class VerdictWord(StrEnum):
    """The three-valued verdict of a run."""

    VALID = "valid"
    INVALID = "invalid"
    UNKNOWN = "unknown"


class CountRow(Frozen):
    """One row of the counts: findings of a class by producer, partition, write step and the fault
    windows that were open from send to report, or, if lost or vanished, at any time since the send, or, if
    unprocessed or reprocessed, while the application may have passed over it or repeated it (names joined
    by " + ", empty: none). None: not known (bytes that do not decode).
    """

    finding: FindingClass
    producer: int | None
    partition: int | None
    step: int | None
    windows: str
    count: int


class Example(Frozen):
    """One finding with its evidence, as shown to people. `offsets` are where it was read (first few).

    `reader` is the live reader or group concerned, `count` how many deliveries or offsets one finding stands
    for, `txn` the number of the producer's transaction (None: does not apply). `cycle` has the edges of a
    cycle of transactions (`checkers.evidence.findings.FINDINGS`).
    """

    finding: FindingClass
    producer: int | None
    seq: int | None
    partition: int | None
    offsets: tuple[int, ...]
    acked_offset: int | None
    outcome: str | None
    sent_ns: int | None
    closed_ns: int | None
    error: str | None
    windows: str
    held_by: tuple[int, ...]
    detail: str
    reader: str | None = None
    count: int | None = None
    txn: int | None = None
    cycle: tuple[str, ...] = ()


class OwnerlessTime(Frozen):
    """How long no member of a group owned a partition, between one owner and the next: `seconds` in all,
    `longest` at a time."""

    group: str
    partition: int
    seconds: float
    longest: float


class ShareCount(Frozen):
    """What the members of a share group were given and said: `records` different ones in `deliveries`, of
    which `accepted`, `released` and `rejected` were answered without an error, `failed` with one, and
    `unanswered` never. The others were not acknowledged."""

    group: str
    records: int
    deliveries: int
    accepted: int
    released: int
    rejected: int
    failed: int
    unanswered: int


BY_ABSENCE = (
    *(FindingClass.LOST, FindingClass.EXPIRED, FindingClass.COMPACTED, FindingClass.VANISHED),
    *(FindingClass.UNCONFIRMED_ABSENT, FindingClass.TORN_TRANSACTION, FindingClass.PREMATURE),
)
"""Classes that say what the final read lacks. Where it did not begin (the run was interrupted, or the cluster
did not settle), there are none of them."""


class Summary(Frozen):
    """Counts of one run; its size does not depend on the number of records.

    `outcomes` counts sends by outcome, `findings` records by class (classes with none are absent),
    `acked_by_step` and `lost_by_step` go by write step name. `lost_held_by_leader` counts lost records that
    the current leader's own segment files do hold: then the final read is at fault, not Kafka.
    `same_offset` counts lost records whose offset other success reports name as well: "false" where there are
    more of them than leader epochs, each of which gives an offset away once, "doubtful" where it is not known
    how many epochs there were. `lost_unexamined` counts lost records for which no replica's files were read.
    `extra_copies` is the number of copies beyond the first over all duplicates, `indeterminate_present` that
    of indeterminate sends that the final read holds (None: not known, the check is of an earlier version).
    `unavailable_seconds` is the longest stretch over the partitions without a success report while a write
    step was going on, counted from one second up (0.0: none; None: not known, as nothing was sent in a write
    step, or no time is known). `blame` says in sentences where the findings come from: by class, write step,
    partition, faults open at the acknowledgement and begun after it, and leader epochs, the most first.
    `ownerless` are the partitions without an owner for a second or more, at most 50, the longest times first.
    `idle_faults` are those that were open during a write step and met nothing of this run: no send was waited
    for and no reader was given anything. `shares` has an entry for each share group. Of an application under
    test: `inputs` is the number of inputs that it had to process, `processed` how many of them have the
    outputs that they should have (None: there is no application), `premature_places` counts premature outputs
    by what is wrong with the input. `engine` is what counted, with its version ("": not known).
    """

    sent: int
    outcomes: dict[str, int]
    reads: int
    findings: dict[FindingClass, int]
    acked_by_step: dict[str, int]
    lost_by_step: dict[str, int]
    lost_places: dict[str, int]
    lost_held_by_leader: int
    lost_unexamined: int
    extra_copies: int
    counts: tuple[CountRow, ...]
    examples: tuple[Example, ...]
    unavailable_seconds: float | None
    check_seconds: float
    problems: tuple[str, ...] = ()
    blame: tuple[str, ...] = ()
    ownerless: tuple[OwnerlessTime, ...] = ()
    idle_faults: tuple[str, ...] = ()
    shares: tuple[ShareCount, ...] = ()
    inputs: int | None = None
    processed: int | None = None
    premature_places: dict[str, int] = Field(default_factory=dict)
    same_offset: dict[str, int] = Field(default_factory=dict)
    indeterminate_present: int | None = None
    engine: str = ""

    def count(self, finding: FindingClass) -> int:
        return self.findings.get(finding, 0)


class BrokenPromise(Frozen):
    """A class of which a run has more or fewer findings than promised; `promised` is as written, followed by
    its number if it names a step."""

    finding: FindingClass
    promised: str
    seen: int

    def __str__(self) -> str:
        return f"{self.finding.value}: promised {self.promised}, seen {self.seen:,}"


class Judgement(Frozen):
    """Verdict of one run, and whether its arm kept the experiment's promise (None: not known)."""

    verdict: VerdictWord
    reasons: tuple[str, ...]
    as_promised: bool | None
    promise_reasons: tuple[str, ...] = ()
    broken_promises: tuple[BrokenPromise, ...] = Field((), exclude=True)
    """`promise_reasons` as data; files have only the sentences."""


class ArmResult(Frozen):
    """One arm's run: its metadata, counts and judgement; `folder` is relative to the experiment's folder,
    `check_seconds` what the check took (the first of a process may wait for the engine to start)."""

    folder: str
    meta: RunMeta
    summary: Summary | None
    judgement: Judgement
    check_seconds: float | None = None


class FailedTest(Frozen):
    """A test that used the experiment's runs and failed: its name, and the message of the failure."""

    test: str
    message: str


class ExperimentResult(Frozen):
    """All arms of one execution of an experiment (`result.json`). `failed_tests` are pytest's (the plugin
    adds them); they do not change the exit code."""

    schema_version: int = SCHEMA_VERSION
    experiment: str
    title: str
    description: str
    arms: tuple[ArmResult, ...]
    started_ns: int
    seconds: float
    command: str
    failed_tests: tuple[FailedTest, ...] = ()

    def exit_code(self) -> int:
        """0: every arm as promised; 1: a promise was broken; 3: none was broken, but one could not be
        judged."""
        answers = [arm.judgement.as_promised for arm in self.arms]
        if any(answer is False for answer in answers):
            return 1
        return 0 if answers and all(answers) else 3
