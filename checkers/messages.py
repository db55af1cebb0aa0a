"""The sentence that goes with a finding, built as SQL so that no record passes through Python."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

_SHOWN_BYTES = 16

_ACKED_AT = """
    CASE WHEN acked_offset IS NULL THEN concat('acknowledged without an offset in ', sent_to)
         ELSE concat('acknowledged at offset ', acked_offset, ' of ', sent_to) END"""

_STANDING = """
    CASE WHEN unreadable THEN '; a value that does not check stands there now'
         WHEN place = 'overwritten' THEN '; another record stands there now'
         WHEN place = 'tail' THEN concat('; the log ends at offset ', end_offset)
         ELSE '; not in the log' END"""

_HOLDERS = """
    CASE WHEN size(held_by) > 0
         THEN concat('; in the files of broker ', array_join(cast(held_by AS array<string>), ', '))
         ELSE '' END"""

_KEY_READ = "CASE WHEN NOT first_key <=> key THEN first_key ELSE last_key END"


def of_record(run_id: int) -> Column:
    """For rows of `checkers.classify` with their evidence, names decoded.

    Besides those columns it reads `sent_to`, `first_at` and `elsewhere`: where the record was sent to, first
    read from, and read from other than sent to, each as `topic-partition`.
    """
    return F.expr(f"""
        CASE finding
        WHEN 'phantom' THEN concat(
            CASE WHEN run = {run_id} THEN 'this run never sent it'
                 ELSE concat('it carries the id of another run (', coalesce(run, 'none'), ')') END,
            '; read from ', first_at, ' at offset ', first_offset)
        WHEN 'misplaced' THEN concat('sent to ', sent_to, ', read from ', elsewhere)
        WHEN 'corrupt' THEN concat(
            'sent with key ', coalesce(cast(key AS string), 'none'),
            ', read with key ', coalesce(cast({_KEY_READ} AS string), 'none'))
        WHEN 'rejected_present' THEN concat('refused (', coalesce(error, 'no error'), '), yet in ', first_at)
        WHEN 'duplicate' THEN concat(
            copies, ' copies in ', first_at, ' under ', epochs, ' leader epoch(s)')
        WHEN 'recovered' THEN concat(
            outcome, ' (', coalesce(error, 'no error'), '), and it is in ', first_at)
        WHEN 'lost' THEN concat({_ACKED_AT}, {_STANDING}, {_HOLDERS})
        WHEN 'unconfirmed_absent' THEN concat('sent to ', sent_to, ' under acks=0, not in the log')
        WHEN 'expired' THEN concat(
            {_ACKED_AT}, ', below the log start offset ', log_start_offset, '; retention may delete it')
        END""")


OF_VALUE = f"""
    concat(
        CASE state WHEN 'corrupt' THEN 'CRC does not match' ELSE 'not a value of this harness' END,
        '; ', topic, '-', partition, ' at offset ', offset, ', ', coalesce(length(value), 0),
        ' bytes beginning ', coalesce(hex(substring(value, 1, {_SHOWN_BYTES})), ''))"""
"""For rows of the reads journal whose value does not check or decode."""
