"""Checks of records. A record is in the first class that applies, in the order of the functions here.

Each takes the facts of records (`checkers.facts.record.FACTS`) with the columns that
`checkers.findings.record_context` adds, and returns which of them are of its class.
"""

from __future__ import annotations

import numpy as np

from checkers.checks.base import Rows, absent, acked, check, outcome, present, txn_outcome
from checkers.checks.sentences import (
    FindingRows,
    Text,
    acked_at,
    first_read,
    holders,
    otherwise,
    say,
    seen_live,
    standing,
    when,
)
from checkers.facts.columns import NULL, Flags
from harness.model.journal import SendOutcome, TxnOutcome
from harness.model.result import FindingClass


def _not_sent(rows: FindingRows) -> Text:
    foreign = say("it carries the id of another run (", otherwise(rows.number("run"), "none"), ")")
    whose = when(rows["run"] == rows["this_run"], "this run never sent it", foreign)
    return say(
        *(whose, "; read from ", rows.text("first_at")),
        otherwise(say(" at offset ", first_read(rows)), ""),
    )


@check(FindingClass.PHANTOM, _not_sent)
def phantom(rows: Rows) -> Flags:
    """Read (by the final read or a live reader), but never sent by this run.

    Source: a log may hold only what producers sent (Kafka documentation, Design, Message Delivery Semantics).
    Example: seq 3 of producer 0 is read, the journal of sends ends at seq 2.
    """
    return np.asarray(rows["send_rows"] == 0)


def _elsewhere(rows: FindingRows) -> Text:
    return say("sent to ", rows.text("sent_to"), ", read from ", rows.text("elsewhere"))


@check(FindingClass.MISPLACED, _elsewhere)
def misplaced(rows: Rows) -> Flags:
    """Read, by any reader, from another topic or partition than sent to.

    Source: a record is stored in the partition that the producer chose (Kafka documentation, Producer
    design).
    Example: sent to t-0, read from t-1.
    """
    return np.asarray(rows["away_spot"] != NULL)


def _another_key(rows: FindingRows) -> Text:
    sent, read = (otherwise(rows.number(name), "none") for name in ("key", "read_key"))
    return say("sent with key ", sent, ", read with key ", read)


@check(FindingClass.CORRUPT, _another_key)
def corrupt(rows: Rows) -> Flags:
    """A value, read by any reader, that does not decode or whose CRC does not match (one finding per value,
    in addition to those of records); or any reader got another key than was sent.

    Source: brokers keep keys and values as they are (Kafka documentation, Message Format).
    Example: sent with key 5, read with key 6.
    """
    return np.asarray(rows["wrong_key"])


def _refused(rows: FindingRows) -> Text:
    error = otherwise(rows.text("error"), "no error")
    return say("refused (", error, "), yet read from ", rows.text("first_at"))


@check(FindingClass.REJECTED_PRESENT, _refused)
def rejected_present(rows: Rows) -> Flags:
    """`rejected`, which means that it was certainly not written, yet in the final read or given to a live
    reader.

    Source: the errors that prove it are listed with their sources in `workloads/producer/outcomes.py`.
    Example: refused with NOT_ENOUGH_REPLICAS on the first attempt, read at offset 7.
    """
    return outcome(rows, SendOutcome.REJECTED) & (present(rows) | (rows["live_rows"] > 0))


def _aborted(rows: FindingRows) -> Text:
    live = say("live reader ", otherwise(rows.text("reader"), "unknown"))
    who = when(rows["live_committed"] > 0, live, "the final read")
    return say(
        *("its transaction ", rows.number("txn"), " was aborted, yet ", who, " got it from "),
        *(rows.text("first_at"), " reading committed records only"),
    )


@check(FindingClass.ABORTED_READ, _aborted)
def aborted_read(rows: Rows) -> Flags:
    """Its transaction was aborted, and a reader of committed records (live, or the second final read) got it.

    Source: KIP-98; Kafka documentation, Consumer Configs, isolation.level.
    Example: transaction 4 was aborted, a live reader with isolation.level=read_committed got seq 40 of it.
    """
    given = (rows["committed_rows"] > 0) | (rows["live_committed"] > 0)
    return txn_outcome(rows, TxnOutcome.ABORTED) & given


def _copies(rows: FindingRows) -> Text:
    return say(
        *(rows.number("copies"), " copies in ", rows.text("first_at"), " under ", rows.number("epochs")),
        " leader epoch(s)",
    )


@check(FindingClass.DUPLICATE, _copies)
def duplicate(rows: Rows) -> Flags:
    """One record at two or more offsets of the final read.

    Source: a retry without idempotence may be appended again (Kafka documentation, Message Delivery
    Semantics; KIP-98).
    Example: read at offsets 20 and 25.
    """
    return np.asarray(rows["copies"] > 1)


def _two_at_one_offset(rows: FindingRows) -> Text:
    live = say(
        *("live reader ", rows.text("reader"), " got it where the final read of ", rows.text("sent_to")),
        " holds another record",
    )
    where = when(rows["other_at_live"], live, say(acked_at(rows), ", where another record stands"))
    read_at = say("; read at offset ", rows.number("first_offset"))
    return say(where, when(rows["read_rows"] > 0, read_at, "; not in the log"))


@check(FindingClass.INCONSISTENT_OFFSET, _two_at_one_offset)
def inconsistent_offset(rows: Rows) -> Flags:
    """Two records at one offset: the final read holds another record at the offset at which this one was
    acknowledged, and this one elsewhere; or a live reader got it at an offset at which the final read holds
    another record (one that was acknowledged and is absent counts as lost).

    Source: the record at an offset never changes (Kafka documentation, Design; KIP-101 on diverged logs).
    Example: a live reader got seq 8 at offset 20; the final read holds seq 9 there.
    """
    moved, gone = acked(rows) & present(rows) & rows["overwritten"], acked(rows) & absent(rows)
    return np.asarray(moved | (rows["other_at_live"] & ~gone))


def _below_the_start(rows: FindingRows) -> Text:
    start = rows.number("log_start_offset")
    why = when(rows["deleted"], "; a delete_records step deleted it", "; retention may delete it")
    below = say(", below the log start offset ", start, why)
    return say(acked_at(rows), when(rows["recreated"], ", before the topic was created again", below))


@check(FindingClass.EXPIRED, _below_the_start)
def expired(rows: Rows) -> Flags:
    """Acknowledged and deleted by policy: its offset is below the log start offset, and the topic's retention
    may have deleted a record of that age, or a delete_records step has deleted it; or a recreate_topic step
    deleted the topic after the record had been sent.

    Source: Kafka documentation, Topic Configs, cleanup.policy, retention.ms, retention.bytes; KIP-107.
    Example: acknowledged at offset 9, the log starts at 10, sent 61 s before the end under
    retention.ms=60000.
    """
    return np.asarray(acked(rows) & absent(rows) & rows["may_expire"])


def _newer_of_its_key(rows: FindingRows) -> Text:
    return say(
        *(acked_at(rows), "; key ", rows.number("key"), " is at offset ", rows.number("newer_offset")),
        ", so compaction may remove it",
    )


@check(FindingClass.COMPACTED, _newer_of_its_key)
def compacted(rows: Rows) -> Flags:
    """Acknowledged and deleted by policy: the topic is compacted, and the final read holds a record of the
    same key at a higher offset than acknowledged.

    Source: Kafka documentation, Log Compaction.
    Example: key 5 was acknowledged at offset 3, and key 5 is read at offset 90.
    """
    return np.asarray(acked(rows) & absent(rows) & rows["may_compact"])


def _lost(rows: FindingRows) -> Text:
    return say(acked_at(rows), standing(rows), holders(rows), seen_live(rows))


@check(FindingClass.LOST, _lost)
def lost(rows: Rows) -> Flags:
    """Acknowledged, not deleted by policy, absent from a complete final read; or in the log, but the final
    read of committed records holds no record of its committed transaction.

    `place`: overwritten (another record is at its acknowledged offset), tail (its offset is at or beyond the
    end), not committed, unknown.

    Source: Kafka documentation, Producer Configs, acks; min.insync.replicas and leader elections.
    Example: acknowledged at offset 20 under acks=1; after an election another record is at offset 20.
    """
    return np.asarray(acked(rows) & (absent(rows) | (rows["not_committed"] & ~rows["torn"])))


def _vanished(rows: FindingRows) -> Text:
    return say(rows.text("outcome"), ", not in the log of ", rows.text("sent_to"), seen_live(rows))


@check(FindingClass.VANISHED, _vanished)
def vanished(rows: Rows) -> Flags:
    """Not acknowledged, given to a live reader, absent from the final read, not deleted by policy.

    Source: readers get only records below the high watermark, which no election may lose (KIP-101, KIP-279).
    Example: a send that timed out was given to a live reader at offset 20 and is not in the log.
    """
    gone = ~acked(rows) & absent(rows) & (rows["live_rows"] > 0)
    return np.asarray(gone & ~(rows["may_expire"] | rows["may_compact"]))


def _unconfirmed(rows: FindingRows) -> Text:
    return say("sent to ", rows.text("sent_to"), " under acks=0, not in the log")


@check(FindingClass.UNCONFIRMED_ABSENT, _unconfirmed)
def unconfirmed_absent(rows: Rows) -> Flags:
    """Sent under acks=0 and absent: counted separately from `lost`, because no broker ever confirmed it.

    Source: Kafka documentation, Producer Configs, acks=0.
    Example: the client reported success at once, the record is not in the log.
    """
    return np.asarray(outcome(rows, SendOutcome.UNCONFIRMED) & absent(rows) & (rows["live_rows"] == 0))


def _torn(rows: FindingRows) -> Text:
    return say(
        *("of transaction ", rows.number("txn"), ", committed; the log holds it at offset "),
        *(rows.number("first_offset"), " of ", rows.text("sent_to")),
        ", readers of committed records get others of the transaction but not this one",
    )


@check(FindingClass.TORN_TRANSACTION, _torn)
def torn_transaction(rows: Rows) -> Flags:
    """Acknowledged in a committed transaction and in the log, but missing from the final read of committed
    records, which holds another record of that transaction.

    Source: a transaction's records become readable together or not at all (KIP-98).
    Example: transaction 4 has seqs 40 to 49, all in the log; readers of committed records get 40 to 44.
    """
    return np.asarray(rows["torn"])


def _late(rows: FindingRows) -> Text:
    place = say("at offset ", rows.number("first_offset"), " of ", rows.text("sent_to"))
    return say(place, ", after one that was sent later")


@check(FindingClass.REORDERED, _late)
def reordered(rows: Rows) -> Flags:
    """Late: a record of the same producer and partition with a higher seq has a lower first offset.

    Source: Kafka documentation, Producer Configs, max.in.flight.requests.per.connection and
    enable.idempotence.
    Example: seq 7 is at offset 21, seq 8 at offset 20: seq 7 is late.
    """
    return np.asarray(present(rows) & rows["late"])


def _recovered(rows: FindingRows) -> Text:
    error = otherwise(rows.text("error"), "no error")
    return say(rows.text("outcome"), " (", error, "), and it is in ", rows.text("first_at"))


@check(FindingClass.RECOVERED, _recovered)
def recovered(rows: Rows) -> Flags:
    """`indeterminate` or `unconfirmed`, present: allowed, and counted.

    Source: ARCHITECTURE.md, Outcome of a send.
    Example: the send timed out, the record is at offset 20.
    """
    open_fate = outcome(rows, SendOutcome.INDETERMINATE) | outcome(rows, SendOutcome.UNCONFIRMED)
    return present(rows) & open_fate
