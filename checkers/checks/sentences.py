"""Parts of the sentences that go with findings, as SQL so that no record passes through Python.

They read the columns of `checkers.findings.evidence` with names for numbers, and `sent_to`, `first_at` and
`elsewhere`: where the record was sent to, first read from, and read from other than sent to, each as
`topic-partition`.
"""

from __future__ import annotations

_SHOWN_BYTES = 16

ACKED_AT = """
    CASE WHEN acked_offset IS NULL THEN concat('acknowledged without an offset in ', sent_to)
         ELSE concat('acknowledged at offset ', acked_offset, ' of ', sent_to) END"""

STANDING = """
    CASE WHEN place = 'not committed'
              THEN '; the log holds it, but readers of committed records get nothing of its transaction'
         WHEN overwritten_badly THEN '; a damaged value stands there now'
         WHEN place = 'overwritten' THEN '; another record stands there now'
         WHEN place = 'tail' THEN concat('; the log ends at offset ', end_offset)
         ELSE '; not in the log' END"""

HOLDERS = """
    CASE WHEN size(held_by) > 0
         THEN concat('; in the files of broker ', array_join(cast(held_by AS array<string>), ', '))
         ELSE '' END"""

SEEN_LIVE = """
    CASE WHEN live_rows > 0
         THEN concat('; live reader ', coalesce(reader, 'unknown'), ' had got it at offset ', live_offset)
         ELSE '' END"""

FIRST_READ = "coalesce(get(offsets, 0), live_offset)"

BAD_DELIVERY = """
    concat(
        CASE state WHEN 'corrupt' THEN 'CRC does not match' ELSE 'not a value of this harness' END,
        '; ', topic, '-', partition, ' at offset ', offset)"""
"""For rows of live readers whose value does not decode or whose CRC does not match."""

BAD_VALUE = f"""
    concat({BAD_DELIVERY}, ', ', coalesce(length(value), 0),
        ' bytes beginning ', coalesce(hex(substring(value, 1, {_SHOWN_BYTES})), ''))"""
"""For rows of the reads journal whose value does not decode or whose CRC does not match."""
