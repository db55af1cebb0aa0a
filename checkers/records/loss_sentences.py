"""The sentences about records that were acknowledged and are gone, for `checkers.records.classes`."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from checkers.classes.base import Facts
from checkers.evidence.sentences import say, when


def acked_at(r: Facts) -> Column:
    """Where the record was acknowledged, in words."""
    return when(
        r.acked_offset.isNull(),
        "acknowledged without an offset in {sent_to}",
        "acknowledged at offset {acked_offset} of {sent_to}",
    )


def expired_detail(r: Facts) -> Column:
    """Why a record may be gone, in words."""
    own_time = "; retention may delete it, to which its producer gave the timestamp {own_time_ms}"
    by_age = when(r.own_time_ms.isNull(), "; retention may delete it", own_time)
    why = when(r.deleted, "; delete_records has deleted it", by_age)
    below = say(", below the log start offset {log_start_offset}", why)
    return say(acked_at(r), when(r.recreated, ", before the topic was created again", below))


def compacted_detail(r: Facts) -> Column:
    """What compaction kept instead of a record, in words."""
    return say(acked_at(r), "; key {key} is at offset {newer_offset}, so compaction may remove it")


def _at_acked_offset(r: Facts) -> Column:
    """What is at the offset at which a lost record was acknowledged, in words."""
    gone = when(r.place == "tail", "; the log ends at offset {end_offset}", "; not in the log")
    replaced = when(r.place == "overwritten", "; another record stands there now", gone)
    damaged = when(r.damaged_at_acked_offset, "; a damaged value stands there now", replaced)
    held_back = "; the log holds it, but readers of committed records get nothing of its transaction"
    return when(r.place == "not committed", held_back, damaged)


def _same_offset(r: Facts) -> Column:
    """That other success reports name the same offset, in words."""
    named = "; {reports} success reports name this offset, "
    one = "and at most one of them can be true, as a leader epoch gives an offset away once"
    some = "and at most {true_reports} of them can be true, as a leader epoch gives an offset away once"
    unsure = "and of those of one leader epoch at most one can be true"
    words = when(r.true_reports == 1, one, when(r.true_reports.isNull(), unsure, some))
    return when(r.reports.isNotNull(), say(named, words), "")


def received_live(r: Facts) -> Column:
    """Which live reader had got it, and where."""
    return when(r.live_rows > 0, "; live reader {live_reader:unknown} had got it at offset {live_offset}", "")


def lost_detail(r: Facts) -> Column:
    """What is known of a lost record, in words."""
    holders = F.array_join(r.held_by.cast("array<string>"), ", ")
    held = when(F.size(r.held_by) > 0, say("; in the files of broker ", holders), "")
    return say(acked_at(r), _at_acked_offset(r), _same_offset(r), held, received_live(r))
