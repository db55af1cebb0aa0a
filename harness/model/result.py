"""The result of checking one run (`summary.json`) and of all arms of an experiment (`result.json`)."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from harness.model.finding_class import FindingClass
from harness.model.frozen import Frozen
from harness.model.journal import SCHEMA_VERSION
from harness.model.run import RunMeta

FALSE_REPORTS, DOUBTFUL_REPORTS = "false", "doubtful"
"""Of success reports that name one offset: some are false; or they may be, since it is not known how many
leader epochs there were."""
ABORTED_INPUT = "aborted"
INPUT_NOT_IN_LOG = "not in the log"
"""The values of `place` for a premature output: what is wrong with its input."""


class NotHandled(StrEnum):
    """Why an application that journals what it handles has left a record out, as `place` of the finding: its
    group committed a later offset before; its handler failed, and it went on; it handled a later record
    though none of these; or nothing shows that it came so far."""

    COMMITTED = "committed before it was handled"
    FAILED = "handler failed"
    JUMPED = "jumped over"
    NOT_REACHED = "not reached"


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
    cycle of transactions (`checkers.evidence.findings.FINDINGS`), `id` is the record's own id and
    `key_text` its key.
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
    id: str | None = None
    key_text: str | None = None

    @property
    def record(self) -> str:
        """The record that it is about, in words: "producer 0, seq 11, key 7, id order-11"; empty: none."""
        record = f"producer {self.producer}, seq {self.seq}" if self.seq is not None else ""
        key = f"key {self.key_text}" if self.key_text not in (None, self.id) else ""
        own = f"id {self.id}" if self.id is not None else ""
        return ", ".join(filter(None, (record, key, own)))


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


class MemberRecords(Frozen):
    """What one process of an application handled of one partition: `records` between `first_ns` and
    `last_ns`, `next_offset` behind the highest one. `member` is the number of its file. `committed` is what
    its group had committed when the next process began there, or at the end (None: nothing)."""

    member: int
    partition: int
    records: int
    first_ns: int
    last_ns: int
    next_offset: int
    committed: int | None


class HandledRecords(Frozen):
    """How an application handled its input, in seconds: the `longest_gap` without a handled record while the
    next one stood in the log (None: fewer than two), and for how long two processes handled one partition at
    once."""

    members: tuple[MemberRecords, ...] = ()
    longest_gap: float | None = None
    shared_seconds: float = 0.0


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
    by what is wrong with the input, and where it journals what it handles, `unprocessed_places` counts by
    `NotHandled`, and `handled` says how its processes shared the input. `ids` is the number of different ids
    of their own that the records sent have, `acked_ids` that of those with an acknowledged record (None: the
    run's records have none, or the check is of an earlier version). `engine` is what counted, with its
    version ("": not known).
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
    unprocessed_places: dict[str, int] = Field(default_factory=dict)
    handled: HandledRecords | None = None
    same_offset: dict[str, int] = Field(default_factory=dict)
    indeterminate_present: int | None = None
    ids: int | None = None
    acked_ids: int | None = None
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
