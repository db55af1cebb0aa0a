"""The sentence that goes with a finding, built as columns so that no record passes through Python."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from checkers.scan import Codes, name_of
from harness.model.journal import ReadState
from harness.model.result import FindingClass

_SHOWN_BYTES = 16


def _text(*parts: str | Column) -> Column:
    """Parts in a row; a null part reads "none"."""
    return F.concat(
        *(
            F.lit(part) if isinstance(part, str) else F.coalesce(part.cast("string"), F.lit("none"))
            for part in parts
        )
    )


def of_record(codes: Codes, run_id: int) -> Column:
    """For rows of `checkers.classify` with evidence and names joined."""
    sent_to, first_at = name_of(F.col("spot"), codes), name_of(F.col("first_spot"), codes)
    elsewhere = F.when(F.col("first_spot") != F.col("spot"), F.col("first_spot")).otherwise(
        F.col("last_spot")
    )
    key_read = F.when(~F.col("first_key").eqNullSafe(F.col("key")), F.col("first_key")).otherwise(
        F.col("last_key")
    )
    acked_at = F.when(
        F.col("acked_offset").isNotNull(),
        _text("acknowledged at offset ", F.col("acked_offset"), " of ", sent_to),
    ).otherwise(_text("acknowledged without an offset in ", sent_to))
    standing = (
        F.when(F.col("unreadable"), F.lit("; a value that does not check stands there now"))
        .when(F.col("place") == "overwritten", F.lit("; another record stands there now"))
        .when(F.col("place") == "tail", _text("; the log ends at offset ", F.col("end_offset")))
        .otherwise(F.lit("; not in the log"))
    )
    holders = F.when(
        F.size("held_by") > 0,
        F.concat(
            F.lit("; in the files of broker "), F.concat_ws(", ", F.col("held_by").cast("array<string>"))
        ),
    ).otherwise(F.lit(""))
    owner = F.when(F.col("run") == run_id, F.lit("this run never sent it")).otherwise(
        _text("it carries the id of another run (", F.col("run"), ")")
    )
    sentences = {
        FindingClass.PHANTOM: _text(owner, "; read from ", first_at, " at offset ", F.col("first_offset")),
        FindingClass.MISPLACED: _text("sent to ", sent_to, ", read from ", name_of(elsewhere, codes)),
        FindingClass.CORRUPT: _text("sent with key ", F.col("key"), ", read with key ", key_read),
        FindingClass.REJECTED_PRESENT: _text("refused (", F.col("error"), "), yet in ", first_at),
        FindingClass.DUPLICATE: _text(
            F.col("copies"), " copies in ", first_at, " under ", F.col("epochs"), " leader epoch(s)"
        ),
        FindingClass.RECOVERED: _text(F.col("outcome"), " (", F.col("error"), "), and it is in ", first_at),
        FindingClass.LOST: _text(acked_at, standing, holders),
        FindingClass.UNCONFIRMED_ABSENT: _text("sent to ", sent_to, " under acks=0, not in the log"),
        FindingClass.EXPIRED: _text(
            acked_at, ", below the log start offset ", F.col("log_start_offset"), "; retention may delete it"
        ),
    }
    chain = F.lit(None).cast("string")
    for finding, sentence in sentences.items():
        chain = F.when(F.col("finding") == finding.value, sentence).otherwise(chain)
    return chain


def of_value() -> Column:
    """For rows of the reads journal whose value does not check or decode."""
    start = F.hex(F.substring(F.col("value"), 1, _SHOWN_BYTES))
    why = F.when(F.col("state") == ReadState.CORRUPT.value, F.lit("CRC does not match")).otherwise(
        F.lit("not a value of this harness")
    )
    return _text(
        why,
        "; ",
        F.col("topic"),
        "-",
        F.col("partition"),
        " at offset ",
        F.col("offset"),
        ", ",
        F.length("value"),
        " bytes beginning ",
        start,
    )
