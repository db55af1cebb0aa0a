"""Expectations on groups and applications under test: members, commits, transactions, deliveries to share
groups; what an application left out or processed again, and how it ended."""

from __future__ import annotations

from collections import Counter
from operator import itemgetter

from harness.lab.suite.expect_records import findings
from harness.lab.suite.expectations import Expectation, between, exactly, precondition
from harness.lab.suite.run_evidence import SECOND, FinishedRun, required
from harness.model import application_journal, group_journal, journal
from harness.model.application_meta import ApplicationMeta
from harness.model.finding_class import FindingClass
from harness.model.journal_reader import JournalRow
from harness.model.share_journal import DELIVERIES_DIR
from workloads.records.producer.outcomes import FENCED

_AT = itemgetter("at_ns")
_QUESTION = itemgetter("group", "partition", "source")
_TRANSACTION = itemgetter("producer", "txn")
_RECORD = itemgetter("producer", "seq")


def commits_answered(step: str, least: int, most: int | None = None) -> Expectation:
    """The number of groups of a step `commit_offsets` whose commit was answered without an error (`most`
    None: exactly `least`)."""

    def of(run: FinishedRun) -> int:
        mine = [
            row for row in run.rows(group_journal.COMMITS_DIR) if row["reader"].rpartition("-")[0] == step
        ]
        required(mine, f"no commits of step {step} were journaled")
        return len({row["reader"] for row in mine if row["error"] is None})

    return between(f"commits of {step} answered as done", least, least if most is None else most, of)


def moved(reader: str, step: str, least: int, most: int | None = None) -> Expectation:
    """The number of partitions that were taken from a live reader after a step began and before the last step
    ended (`most` None: exactly `least`)."""

    def of(run: FinishedRun) -> int:
        rows = run.rows(group_journal.ASSIGNMENTS_DIR)
        assigned = any((row["reader"], row["event"]) == (reader, "assigned") for row in rows)
        required(assigned, f"consumer {reader} was never assigned a partition")
        return _partitions(run, reader, step, assigned=False)

    return between(f"partitions taken from consumer {reader}", least, least if most is None else most, of)


def owned(reader: str, step: str, least: int, most: int | None = None) -> Expectation:
    """The number of partitions that a live reader was assigned after a step began and before the last step
    ended (`most` None: exactly `least`)."""
    what = f"partitions that consumer {reader} was assigned in {step} or later"
    most = least if most is None else most
    return between(what, least, most, lambda run: _partitions(run, reader, step, assigned=True))


def handover(reader: str, step: str, *, least: float, most: float) -> Expectation:
    """How many seconds after the beginning of a step a live reader was next assigned a partition."""

    def of(run: FinishedRun) -> float:
        assigned = _changes(run, reader, step, assigned=True)
        first = required(assigned, f"consumer {reader} was assigned nothing after {step} had begun")[0]
        return float(first["at_ns"] - run.step(step).started_ns) / SECOND

    return between(f"consumer {reader} was assigned more after", least, most, of, "s")


def _changes(run: FinishedRun, reader: str, step: str, *, assigned: bool) -> list[JournalRow]:
    """What a live reader was assigned after a step began, or what was taken from it, in order of time."""
    since = run.step(step).started_ns
    return [
        row
        for row in run.rows(group_journal.ASSIGNMENTS_DIR)
        if row["reader"] == reader and (row["event"] == "assigned") is assigned and row["at_ns"] >= since
    ]


def _partitions(run: FinishedRun, reader: str, step: str, *, assigned: bool) -> int:
    """How many partitions `_changes` has before the last step ended."""
    ended = run.meta.steps[-1].ended_ns or 0
    changes = _changes(run, reader, step, assigned=assigned)
    return len({row["partition"] for row in changes if row["at_ns"] <= ended})


def last_answer(group: str, offset: int | None = None) -> Expectation:
    """The committed offset of partition 0 by the coordinator's last answer about a group (None: it has
    none)."""

    def of(run: FinishedRun) -> object:
        rows = [row for row in _answers_about(run, group) if row["error"] is None]
        committed = max(required(rows, f"nobody answered about group {group}"), key=_AT)["offset"]
        return "none" if committed is None else committed

    return exactly(f"committed offset of group {group}", "none" if offset is None else offset, of)


def still_committed(group: str, offset: int, expected: bool) -> Expectation:
    """Whether the coordinator's last answer about a group, in partition 0, is this offset. It is not if there
    was no answer without an error."""

    def of(run: FinishedRun) -> bool:
        last = max(_answers_about(run, group), key=_AT, default=None)
        return last is not None and last["error"] is None and last["offset"] == offset

    return exactly(f"offset {offset} of group {group} is still committed", expected, of)


def _answers_about(run: FinishedRun, group: str) -> list[JournalRow]:
    """The answers of coordinators about a group's committed offset of partition 0."""
    return [row for row in run.rows(group_journal.OFFSETS_DIR) if _QUESTION(row) == (group, 0, "fetch")]


def transaction(producer: int, number: int, outcome: journal.TxnOutcome, fenced: bool = False) -> Expectation:
    """The outcome of a transaction as its client learned it. `fenced`: the last error about it also says that
    another producer has taken the transactional.id."""

    def look(run: FinishedRun) -> tuple[str, bool | None]:
        rows = (row for row in run.rows(journal.TRANSACTIONS_DIR) if _TRANSACTION(row) == (producer, number))
        row = required(next(rows, None), f"producer {producer} has no transaction {number}")
        seen = f"{row['outcome']}, {row['error'] or 'no error'}" if fenced else str(row["outcome"])
        return seen, row["outcome"] == outcome and (not fenced or row["error"] in FENCED)

    error = f", {' or '.join(sorted(FENCED))}" if fenced else ""
    return Expectation(f"transaction {number} of producer {producer}", f"{outcome.value}{error}", look)


def transaction_records(producer: int, number: int, log: int, committed: int) -> Expectation:
    """The number of records of a transaction in the log at the end, and of those that readers of committed
    records get."""

    def of(run: FinishedRun) -> dict[str, int]:
        sent = {_RECORD(row) for row in run.all_sends if _TRANSACTION(row) == (producer, number)}
        required(sent, f"producer {producer} sent nothing in transaction {number}")
        places = {"in the log": journal.READS_DIR, "committed": journal.COMMITTED_DIR}
        return {where: len(sent & set(map(_RECORD, run.rows(folder)))) for where, folder in places.items()}

    expected = {"in the log": log, "committed": committed}
    return exactly(f"records of transaction {number} of producer {producer}", expected, of)


def given_times(times: int) -> Expectation:
    """Every record in the log at the end was given to members of the share group this number of times."""

    def of(run: FinishedRun) -> set[int]:
        given = Counter((row["partition"], row["offset"]) for row in run.rows(DELIVERIES_DIR))
        log = required(run.final_log, "the log is empty")
        return {given[row["partition"], row["offset"]] for row in log}

    return exactly("how often each record was given", {times}, of)


def accepted(least: int) -> Expectation:
    """The number of records whose acceptance was answered without an error is at least this one."""

    def look(run: FinishedRun) -> tuple[str, bool | None]:
        done = {
            (row["partition"], row["offset"])
            for row in run.rows(DELIVERIES_DIR)
            if row["acknowledgement"] == "accept" and row["answered_ns"] is not None and row["error"] is None
        }
        return f"{len(done):,}", len(done) >= least

    return Expectation("records that were accepted", f"at least {least:,}", look)


def unprocessed(count: int) -> Expectation:
    """The number of inputs that have no output."""
    return findings(FindingClass.UNPROCESSED, count)


def ended_by_itself() -> Expectation:
    """A precondition: an instance of the application ended by itself, and was started again."""

    def of(run: FinishedRun) -> bool:
        events = [row["event"] for row in run.rows(application_journal.APPLICATION_DIR)]
        return "exited" in events and "restarted" in events

    return precondition(exactly("the application ended by itself and was started again", True, of))


def logged(text: str) -> Expectation:
    """An instance of the application has printed this text."""

    def of(run: FinishedRun) -> bool:
        files = (run.folder / application_journal.APPLICATION_DIR).glob("instance-*.log")
        return any(text in file.read_text(errors="replace") for file in files)

    return exactly(f"{text} in the application's log", True, of)


def drained() -> Expectation:
    """A precondition: the application had nothing left to do, and its output was read to the end."""

    def of(run: FinishedRun) -> bool:
        meta = _application(run)
        return meta.drained and meta.read_complete

    return precondition(exactly("the application drained, and its output read to the end", True, of))


def failed() -> Expectation:
    """The application ended by itself with an error, as `must_fail` asks."""
    return exactly("the application stopped with an error", True, lambda run: _application(run).failed)


def outputs(count: int) -> Expectation:
    """The number of records of its output."""
    return exactly("outputs", count, lambda run: _application(run).records)


def _application(run: FinishedRun) -> ApplicationMeta:
    return required(run.meta.application, "the run has no application")
