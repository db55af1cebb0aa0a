"""Classes of records. A record is in the first class that applies, in the order of the functions here.

Each takes the facts of records and returns, as a column, which of them are of its class. `checkers.records`
computes the facts: `facts` (what was sent and read), `context` (log bounds, retention, compaction), `lookups`
(what needs other rows of the journals), `find` (`late`, `this_run`, and `place` and `held_by` for sentences).
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from checkers.classes.base import Facts, finding_class, rules_in
from checkers.evidence.sentences import if_null, say, when
from checkers.records.loss_sentences import (
    acked_at,
    compacted_detail,
    expired_detail,
    lost_detail,
    received_live,
)
from harness.model.journal import SendOutcome, TxnOutcome


def outcome(r: Facts, expected: SendOutcome) -> Column:
    """Whether the send has this outcome."""
    return r.outcome == expected.value


def txn_outcome(r: Facts, expected: TxnOutcome) -> Column:
    """Whether the send's transaction has this outcome."""
    return r.txn_outcome == expected.value


def acked(r: Facts) -> Column:
    """Whether a broker confirmed the send."""
    return outcome(r, SendOutcome.ACKED)


def present(r: Facts) -> Column:
    """Whether the final read holds the record."""
    return r.read_rows > 0


def absent(r: Facts) -> Column:
    """Whether the final read does not hold the record."""
    return r.read_rows == 0


def _phantom_detail(r: Facts) -> Column:
    foreign = "it carries the id of another run ({run:none})"
    whose = when(r.run == r.this_run, "this run never sent it", foreign)
    first = F.coalesce(r.first_offset, r.live_offset)
    return say(whose, "; read from {first_at}", if_null(say(" at offset ", first), ""))


@finding_class(_phantom_detail)
def phantom(r: Facts) -> Column:
    """Read (by the final read or a live reader), but never sent by this run.

    Source: a log may hold only what producers sent (Kafka documentation, Design, Message Delivery Semantics).
    Example: seq 3 of producer 0 is read, the journal of sends ends at seq 2.
    """
    return r.send_rows == 0


@finding_class("sent to {sent_to}, read from {elsewhere}")
def misplaced(r: Facts) -> Column:
    """Read, by any reader, from another topic or partition than sent to.

    Source: a record is stored in the partition that the producer chose (Kafka documentation, Producer
    design).
    Example: sent to t-0, read from t-1.
    """
    return r.read_elsewhere.isNotNull()


@finding_class("sent with key {key:none}, read with key {read_key:none}")
def corrupt(r: Facts) -> Column:
    """A value, read by any reader, that does not decode or whose CRC does not match (one finding per value,
    in addition to those of records); or any reader got another key than was sent.

    Source: brokers keep keys and values as they are (Kafka documentation, Message Format).
    Example: sent with key 5, read with key 6.
    """
    return r.wrong_key


@finding_class("refused ({error:no error}), yet read from {first_at}")
def rejected_present(r: Facts) -> Column:
    """`rejected`, which means that it was certainly not written, yet in the final read or given to a live
    reader.

    Source: the errors that prove it are listed with their sources in
    `workloads/records/producer/outcomes.py`.
    Example: refused with NOT_ENOUGH_REPLICAS on the first attempt, read at offset 7.
    """
    return outcome(r, SendOutcome.REJECTED) & (present(r) | (r.live_rows > 0))


def _aborted_detail(r: Facts) -> Column:
    who = when(r.live_committed > 0, "live reader {live_reader:unknown}", "the final read")
    aborted = "its transaction {txn} was aborted, yet "
    return say(aborted, who, " got it from {first_at} reading committed records only")


@finding_class(_aborted_detail)
def aborted_read(r: Facts) -> Column:
    """Its transaction was aborted, and a reader of committed records (live, or the second final read) got it.

    Source: KIP-98; Kafka documentation, Consumer Configs, isolation.level.
    Example: transaction 4 was aborted, a live reader with isolation.level=read_committed got seq 40 of it.
    """
    return txn_outcome(r, TxnOutcome.ABORTED) & ((r.committed_rows > 0) | (r.live_committed > 0))


@finding_class("{copies} copies in {first_at} under {epochs} leader epoch(s)")
def duplicate(r: Facts) -> Column:
    """One record at two or more offsets of the final read. `copies` is their number, `epochs` that of the
    leader epochs in which they were written.

    Source: a retry without idempotence may be appended again (Kafka documentation, Message Delivery
    Semantics; KIP-98).
    Example: read at offsets 20 and 25.
    """
    return r.copies > 1


def _inconsistent_detail(r: Facts) -> Column:
    live = "live reader {live_reader} got it where the final read of {sent_to} holds another record"
    where = when(r.other_at_live, live, say(acked_at(r), ", where another record stands"))
    return say(where, when(present(r), "; read at offset {first_offset}", "; not in the log"))


@finding_class(_inconsistent_detail)
def inconsistent_offset(r: Facts) -> Column:
    """Two records at one offset: the final read holds another record at the offset at which this one was
    acknowledged, and this one elsewhere; or a live reader got it at an offset at which the final read holds
    another record (one that was acknowledged and is absent counts as lost).

    Source: the record at an offset never changes (Kafka documentation, Design; KIP-101 on diverged logs).
    Example: a live reader got seq 8 at offset 20; the final read holds seq 9 there.
    """
    moved = acked(r) & present(r) & r.overwritten & ~r.acked_in_earlier
    return moved | (r.other_at_live & ~(acked(r) & absent(r)))


@finding_class(expired_detail)
def expired(r: Facts) -> Column:
    """Acknowledged and deleted by policy. There are three cases. Retention: its offset is below the log start
    offset, and the topic's retention may have deleted a record of that age (by the time that its producer
    gave it, if the topic has message.timestamp.type=CreateTime and the journal of sends holds that time;
    else since its send). Deletion: its offset is below the log start offset, and `delete_records`, a step
    or a fault, has deleted it. A new topic: a recreate_topic step deleted the topic after the record had
    been sent (acknowledged, if its offset is not known).

    Source: Kafka documentation, Topic Configs, cleanup.policy, retention.ms, retention.bytes,
    message.timestamp.type; KIP-107.
    Example: acknowledged at offset 9, the log starts at 10, sent 61 s before the end under
    retention.ms=60000.
    """
    return acked(r) & absent(r) & r.may_expire


@finding_class(compacted_detail)
def compacted(r: Facts) -> Column:
    """Acknowledged and deleted by policy: the topic is compacted, and the final read holds a record of the
    same key at a higher offset than acknowledged.

    Source: Kafka documentation, Log Compaction.
    Example: key 5 was acknowledged at offset 3, and key 5 is read at offset 90.
    """
    return acked(r) & absent(r) & r.may_compact


@finding_class(lost_detail)
def lost(r: Facts) -> Column:
    """Acknowledged, not deleted by policy, absent from a complete final read; or in the log, but the final
    read of committed records holds no record of its committed transaction.

    `place`: overwritten (another record, or a damaged value, is at its acknowledged offset), tail (its offset
    is at or beyond the end), not committed, unknown.

    Source: Kafka documentation, Producer Configs, acks; min.insync.replicas and leader elections.
    Example: acknowledged at offset 20 under acks=1; after an election another record is at offset 20.
    """
    return acked(r) & (absent(r) | (r.not_committed & ~r.torn))


@finding_class(lambda r: say("{outcome}, not in the log of {sent_to}", received_live(r)))
def vanished(r: Facts) -> Column:
    """Not acknowledged, given to a live reader, absent from the final read, not deleted by policy.

    Source: readers get only records below the high watermark, which no election may lose (KIP-101, KIP-279).
    Example: a send that timed out was given to a live reader at offset 20 and is not in the log.
    """
    return ~acked(r) & absent(r) & (r.live_rows > 0) & ~(r.may_expire | r.may_compact)


@finding_class("sent to {sent_to} under acks=0, not in the log")
def unconfirmed_absent(r: Facts) -> Column:
    """Sent under acks=0 and absent: counted separately from `lost`, because no broker ever confirmed it.

    Source: Kafka documentation, Producer Configs, acks=0.
    Example: the client reported success at once, the record is not in the log.
    """
    return outcome(r, SendOutcome.UNCONFIRMED) & absent(r) & (r.live_rows == 0)


@finding_class(
    "of transaction {txn}, committed; the log holds it at offset {first_offset} of {sent_to}, readers of "
    "committed records get others of the transaction but not this one"
)
def torn_transaction(r: Facts) -> Column:
    """Acknowledged in a committed transaction and in the log, but missing from the final read of committed
    records, which holds another record of that transaction.

    Source: a transaction's records become readable together or not at all (KIP-98).
    Example: transaction 4 has seqs 40 to 49, all in the log; readers of committed records get 40 to 44.
    """
    return r.torn


@finding_class("at offset {first_offset} of {sent_to}, after one that was sent later")
def reordered(r: Facts) -> Column:
    """Late: a record of the same producer and partition with a higher seq has a lower first offset (the
    lowest of its copies). A record that was never sent, or is in another partition than sent to, makes
    none late.

    Source: Kafka documentation, Producer Configs, max.in.flight.requests.per.connection and
    enable.idempotence.
    Example: seq 7 is at offset 21, seq 8 at offset 20: seq 7 is late.
    """
    return present(r) & r.late


@finding_class("{outcome} ({error:no error}), and it is in {first_at}")
def recovered(r: Facts) -> Column:
    """`indeterminate` or `unconfirmed`, present: allowed, and counted.

    Source: ARCHITECTURE.md, Outcome of a send.
    Example: the send timed out, the record is at offset 20.
    """
    return present(r) & (outcome(r, SendOutcome.INDETERMINATE) | outcome(r, SendOutcome.UNCONFIRMED))


CLASSES = rules_in(globals())
