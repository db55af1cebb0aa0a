"""The sentence that goes with a finding, built as SQL so that no record passes through Python."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

_SHOWN_BYTES = 16

_ACKED_AT = """
    CASE WHEN acked_offset IS NULL THEN concat('acknowledged without an offset in ', sent_to)
         ELSE concat('acknowledged at offset ', acked_offset, ' of ', sent_to) END"""

_STANDING = """
    CASE WHEN place = 'not committed'
              THEN '; the log holds it, but readers of committed records get nothing of its transaction'
         WHEN overwritten_badly THEN '; a value that does not check stands there now'
         WHEN place = 'overwritten' THEN '; another record stands there now'
         WHEN place = 'tail' THEN concat('; the log ends at offset ', end_offset)
         ELSE '; not in the log' END"""

_HOLDERS = """
    CASE WHEN size(held_by) > 0
         THEN concat('; in the files of broker ', array_join(cast(held_by AS array<string>), ', '))
         ELSE '' END"""

_SEEN_LIVE = """
    CASE WHEN live_rows > 0
         THEN concat('; live reader ', coalesce(reader, 'unknown'), ' had got it at offset ', live_offset)
         ELSE '' END"""

_FIRST_READ = "coalesce(get(offsets, 0), live_offset)"


def of_record(run_id: int) -> Column:
    """For facts of records with their evidence, names decoded.

    Besides those columns it reads `sent_to`, `first_at` and `elsewhere`: where the record was sent to, first
    read from, and read from other than sent to, each as `topic-partition`.
    """
    return F.expr(f"""
        CASE finding
        WHEN 'phantom' THEN concat(
            CASE WHEN run = {run_id} THEN 'this run never sent it'
                 ELSE concat('it carries the id of another run (', coalesce(run, 'none'), ')') END,
            '; read from ', first_at, coalesce(concat(' at offset ', {_FIRST_READ}), ''))
        WHEN 'misplaced' THEN concat('sent to ', sent_to, ', read from ', elsewhere)
        WHEN 'corrupt' THEN concat(
            'sent with key ', coalesce(cast(key AS string), 'none'),
            ', read with key ', coalesce(cast(read_key AS string), 'none'))
        WHEN 'rejected_present' THEN concat(
            'refused (', coalesce(error, 'no error'), '), yet read from ', first_at)
        WHEN 'aborted_read' THEN concat(
            'its transaction ', txn, ' was aborted, yet ',
            CASE WHEN live_committed > 0 THEN concat('live reader ', reader) ELSE 'the final read' END,
            ' got it from ', first_at, ' reading committed records only')
        WHEN 'duplicate' THEN concat(
            copies, ' copies in ', first_at, ' under ', epochs, ' leader epoch(s)')
        WHEN 'inconsistent_offset' THEN concat(
            CASE WHEN other_at_live
                 THEN concat('live reader ', reader, ' got it where the final read of ', sent_to,
                             ' holds another record')
                 ELSE concat({_ACKED_AT}, ', where another record stands') END,
            CASE WHEN read_rows > 0 THEN concat('; read at offset ', get(offsets, 0))
                 ELSE '; not in the log' END)
        WHEN 'recovered' THEN concat(
            outcome, ' (', coalesce(error, 'no error'), '), and it is in ', first_at)
        WHEN 'lost' THEN concat({_ACKED_AT}, {_STANDING}, {_HOLDERS}, {_SEEN_LIVE})
        WHEN 'vanished' THEN concat(outcome, ', not in the log of ', sent_to, {_SEEN_LIVE})
        WHEN 'unconfirmed_absent' THEN concat('sent to ', sent_to, ' under acks=0, not in the log')
        WHEN 'torn_transaction' THEN concat(
            'of transaction ', txn, ', committed; the log holds it at offset ', get(offsets, 0), ' of ',
            sent_to,
            ', readers of committed records get others of the transaction but not this one')
        WHEN 'reordered' THEN concat(
            'at offset ', get(offsets, 0), ' of ', sent_to, ', after one that was sent later')
        WHEN 'expired' THEN concat(
            {_ACKED_AT}, ', below the log start offset ', log_start_offset, '; retention may delete it')
        WHEN 'compacted' THEN concat(
            {_ACKED_AT}, '; key ', key, ' is at offset ', newer_offset, ', so compaction may remove it')
        END""")


OF_GIVEN = """
    concat(
        CASE state WHEN 'corrupt' THEN 'CRC does not match' ELSE 'not a value of this harness' END,
        '; ', topic, '-', partition, ' at offset ', offset)"""
"""For rows of live readers whose value does not check or decode."""

OF_VALUE = f"""
    concat({OF_GIVEN}, ', ', coalesce(length(value), 0),
        ' bytes beginning ', coalesce(hex(substring(value, 1, {_SHOWN_BYTES})), ''))"""
"""For rows of the reads journal whose value does not check or decode."""
