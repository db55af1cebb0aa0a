"""The progress of consumer groups: commits, what coordinators answered of them, and who owned what."""

from __future__ import annotations

LOST, STALE, AHEAD, EARLY, FOREIGN, SHARED = range(6)
"""Kinds of rows: a commit that is gone; one that an answer lacked for a while; one beyond what was given; an
offset of a transaction that an answer had before or without its commit; a commit of a member that is no
owner; a partition that two members own."""

PROGRESS = ("kind", "reader", "other", "spot", "offset", "seen", "count", "broker", "at_ns", "until_ns")
"""One row per anomaly in the progress of a group.

`reader` is the number of the member that committed, or that owned the partition first, `other` that of its
second owner (null: does not apply). `offset` is the committed one, or the first record that both owners
were given; `seen` is what `broker` answered (null: no offset). `count` is the number of answers, of records
that the commit passes, of commits, or of records that the second owner was given. `at_ns` and `until_ns` are
the times of the commit and of the last such answer; of two owners, those of their overlap."""
