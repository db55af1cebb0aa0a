"""Checks of records. A record is in the first class that applies, in the order of the functions here.

Each returns an SQL condition over the facts of records (`checkers.facts.record.FACTS`) and the columns that
`checkers.findings.record_context` adds.
"""

from __future__ import annotations

from checkers.checks.base import ABSENT, ACKED, PRESENT, check, outcome, txn_outcome
from checkers.checks.sentences import ACKED_AT, FIRST_READ, HOLDERS, SEEN_LIVE, STANDING
from harness.model.journal import SendOutcome, TxnOutcome
from harness.model.result import FindingClass


@check(
    FindingClass.PHANTOM,
    f"""
    concat(
        CASE WHEN run = this_run THEN 'this run never sent it'
             ELSE concat('it carries the id of another run (', coalesce(run, 'none'), ')') END,
        '; read from ', first_at, coalesce(concat(' at offset ', {FIRST_READ}), ''))""",
)
def phantom() -> str:
    """Read (by the final read or a live reader), but never sent by this run.

    Source: a log may hold only what producers sent (Kafka documentation, Design, Message Delivery Semantics).
    Example: seq 3 of producer 0 is read, the journal of sends ends at seq 2.
    """
    return "send_rows = 0"


@check(FindingClass.MISPLACED, "concat('sent to ', sent_to, ', read from ', elsewhere)")
def misplaced() -> str:
    """Read, by any reader, from another topic or partition than sent to.

    Source: a record is stored in the partition that the producer chose (Kafka documentation, Producer
    design).
    Example: sent to t-0, read from t-1.
    """
    return "away_spot IS NOT NULL"


@check(
    FindingClass.CORRUPT,
    """
    concat(
        'sent with key ', coalesce(cast(key AS string), 'none'),
        ', read with key ', coalesce(cast(read_key AS string), 'none'))""",
)
def corrupt() -> str:
    """A value, read by any reader, that does not decode or whose CRC does not match (one finding per value,
    in addition to those of records); or any reader got another key than was sent.

    Source: brokers keep keys and values as they are (Kafka documentation, Message Format).
    Example: sent with key 5, read with key 6.
    """
    return "wrong_key"


@check(
    FindingClass.REJECTED_PRESENT,
    "concat('refused (', coalesce(error, 'no error'), '), yet read from ', first_at)",
)
def rejected_present() -> str:
    """`rejected`, which means that it was certainly not written, yet in the final read or given to a live
    reader.

    Source: the errors that prove it are listed with their sources in `workloads/producer/outcomes.py`.
    Example: refused with NOT_ENOUGH_REPLICAS on the first attempt, read at offset 7.
    """
    return f"{outcome(SendOutcome.REJECTED)} AND ({PRESENT} OR live_rows > 0)"


@check(
    FindingClass.ABORTED_READ,
    """
    concat(
        'its transaction ', txn, ' was aborted, yet ',
        CASE WHEN live_committed > 0 THEN concat('live reader ', reader) ELSE 'the final read' END,
        ' got it from ', first_at, ' reading committed records only')""",
)
def aborted_read() -> str:
    """Its transaction was aborted, and a reader of committed records (live, or the second final read) got it.

    Source: KIP-98; Kafka documentation, Consumer Configs, isolation.level.
    Example: transaction 4 was aborted, a live reader with isolation.level=read_committed got seq 40 of it.
    """
    return f"{txn_outcome(TxnOutcome.ABORTED)} AND (committed_rows > 0 OR live_committed > 0)"


@check(
    FindingClass.DUPLICATE,
    "concat(copies, ' copies in ', first_at, ' under ', epochs, ' leader epoch(s)')",
)
def duplicate() -> str:
    """One record at two or more offsets of the final read.

    Source: a retry without idempotence may be appended again (Kafka documentation, Message Delivery
    Semantics; KIP-98).
    Example: read at offsets 20 and 25.
    """
    return "copies > 1"


@check(
    FindingClass.INCONSISTENT_OFFSET,
    f"""
    concat(
        CASE WHEN other_at_live
             THEN concat('live reader ', reader, ' got it where the final read of ', sent_to,
                         ' holds another record')
             ELSE concat({ACKED_AT}, ', where another record stands') END,
        CASE WHEN read_rows > 0 THEN concat('; read at offset ', get(offsets, 0))
             ELSE '; not in the log' END)""",
)
def inconsistent_offset() -> str:
    """Two records at one offset: the final read holds another record at the offset at which this one was
    acknowledged, and this one elsewhere; or a live reader got it at an offset at which the final read holds
    another record (one that was acknowledged and is absent counts as lost).

    Source: the record at an offset never changes (Kafka documentation, Design; KIP-101 on diverged logs).
    Example: a live reader got seq 8 at offset 20; the final read holds seq 9 there.
    """
    moved, gone = f"{ACKED} AND {PRESENT} AND overwritten", f"{ACKED} AND {ABSENT}"
    return f"({moved}) OR (other_at_live AND NOT ({gone}))"


@check(
    FindingClass.EXPIRED,
    f"""
    concat({ACKED_AT}, ', below the log start offset ', log_start_offset, '; retention may delete it')""",
)
def expired() -> str:
    """Acknowledged and deleted by policy: its offset is below the log start offset, and the topic's retention
    may have deleted a record of that age.

    Source: Kafka documentation, Topic Configs, cleanup.policy, retention.ms, retention.bytes.
    Example: acknowledged at offset 9, the log starts at 10, sent 61 s before the end under
    retention.ms=60000.
    """
    return f"{ACKED} AND {ABSENT} AND may_expire"


@check(
    FindingClass.COMPACTED,
    f"""
    concat({ACKED_AT}, '; key ', key, ' is at offset ', newer_offset, ', so compaction may remove it')""",
)
def compacted() -> str:
    """Acknowledged and deleted by policy: the topic is compacted, and the final read holds a record of the
    same key at a higher offset than acknowledged.

    Source: Kafka documentation, Log Compaction.
    Example: key 5 was acknowledged at offset 3, and key 5 is read at offset 90.
    """
    return f"{ACKED} AND {ABSENT} AND may_compact"


@check(
    FindingClass.LOST,
    f"concat({ACKED_AT}, {STANDING}, {HOLDERS}, {SEEN_LIVE})",
)
def lost() -> str:
    """Acknowledged, not deleted by policy, absent from a complete final read; or in the log, but the final
    read of committed records holds no record of its committed transaction.

    `place`: overwritten (another record is at its acknowledged offset), tail (its offset is at or beyond the
    end), not committed, unknown.

    Source: Kafka documentation, Producer Configs, acks; min.insync.replicas and leader elections.
    Example: acknowledged at offset 20 under acks=1; after an election another record is at offset 20.
    """
    return f"{ACKED} AND ({ABSENT} OR not_committed AND NOT torn)"


@check(
    FindingClass.VANISHED,
    f"concat(outcome, ', not in the log of ', sent_to, {SEEN_LIVE})",
)
def vanished() -> str:
    """Not acknowledged, given to a live reader, absent from the final read, not deleted by policy.

    Source: readers get only records below the high watermark, which no election may lose (KIP-101, KIP-279).
    Example: a send that timed out was given to a live reader at offset 20 and is not in the log.
    """
    gone = f"NOT {ACKED} AND {ABSENT} AND live_rows > 0"
    return f"{gone} AND NOT (may_expire OR may_compact)"


@check(
    FindingClass.UNCONFIRMED_ABSENT,
    "concat('sent to ', sent_to, ' under acks=0, not in the log')",
)
def unconfirmed_absent() -> str:
    """Sent under acks=0 and absent: counted separately from `lost`, because no broker ever confirmed it.

    Source: Kafka documentation, Producer Configs, acks=0.
    Example: the client reported success at once, the record is not in the log.
    """
    return f"{outcome(SendOutcome.UNCONFIRMED)} AND {ABSENT} AND live_rows = 0"


@check(
    FindingClass.TORN_TRANSACTION,
    """
    concat(
        'of transaction ', txn, ', committed; the log holds it at offset ', get(offsets, 0), ' of ', sent_to,
        ', readers of committed records get others of the transaction but not this one')""",
)
def torn_transaction() -> str:
    """Acknowledged in a committed transaction and in the log, but missing from the final read of committed
    records, which holds another record of that transaction.

    Source: a transaction's records become readable together or not at all (KIP-98).
    Example: transaction 4 has seqs 40 to 49, all in the log; readers of committed records get 40 to 44.
    """
    return "torn"


@check(
    FindingClass.REORDERED,
    "concat('at offset ', get(offsets, 0), ' of ', sent_to, ', after one that was sent later')",
)
def reordered() -> str:
    """Late: a record of the same producer and partition with a higher seq has a lower first offset.

    Source: Kafka documentation, Producer Configs, max.in.flight.requests.per.connection and
    enable.idempotence.
    Example: seq 7 is at offset 21, seq 8 at offset 20: seq 7 is late.
    """
    return f"{PRESENT} AND late"


@check(
    FindingClass.RECOVERED,
    "concat(outcome, ' (', coalesce(error, 'no error'), '), and it is in ', first_at)",
)
def recovered() -> str:
    """`indeterminate` or `unconfirmed`, present: allowed, and counted.

    Source: ARCHITECTURE.md, Outcome of a send.
    Example: the send timed out, the record is at offset 20.
    """
    open_fate = f"{outcome(SendOutcome.INDETERMINATE)} OR {outcome(SendOutcome.UNCONFIRMED)}"
    return f"{PRESENT} AND ({open_fate})"
