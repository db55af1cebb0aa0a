"""From the facts about inputs and outputs to rows of findings, with the evidence of each."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from checkers.classes.classify import findings_of
from checkers.evidence.windows import open_windows
from checkers.journals.topic_partition import name_of, partition_of
from checkers.journals.views import Views
from checkers.outputs.history import ApplicationHistory
from checkers.outputs.inputs import INPUT
from checkers.records.once import OUTCOMES
from harness.model.result import ABORTED_INPUT, INPUT_NOT_IN_LOG, FindingClass

_OF_SEND = ("sent_to", "step", "outcome", "sent_ns", "closed_ns", "acked_offset", "txn")
_NAMES = {
    "input": "in_topic_partition",
    "output": "out_topic_partition",
    "again": "again_topic_partition",
    "sent_to_name": "sent_to",
}


def output_findings(
    facts: DataFrame, sends: DataFrame, views: Views, history: ApplicationHistory
) -> tuple[DataFrame, list[str]]:
    """Findings about inputs and their outputs, as `FINDINGS`, and the problems of rules that failed.

    Args:
        facts: rows of `checkers.outputs.facts.FACTS`.
        sends: of `checkers.outputs.inputs.sends_of`.
    """
    rows = facts.join(sends.select(*INPUT, *_OF_SEND), list(INPUT), "left")
    # What was never sent has an identity that no send has, or one of another run that one may have.
    of_send = {name: F.when(F.col("sent"), F.col(name)) for name in ("key", *_OF_SEND)}
    # Only an outcome that this version knows is named.
    of_send["outcome"] = F.when(F.col("sent") & F.col("outcome").isin(*OUTCOMES), F.col("outcome"))
    rows = rows.withColumns(of_send)
    rows = rows.withColumns({name: name_of(F.col(column), views.topics) for name, column in _NAMES.items()})
    invented, left_out = _is(FindingClass.INVENTED), _is(FindingClass.UNPROCESSED)
    made = F.col("made_ns")
    # The faults that were open between the send of the input and its last output; of an unprocessed input,
    # those at any time since the send; of an invented output, those when it was written.
    begin = F.when(invented, made).otherwise(F.col("sent_ns"))
    early = F.when(F.col("aborted"), F.lit(ABORTED_INPUT)).otherwise(F.lit(INPUT_NOT_IN_LOG))
    return findings_of(
        "output",
        rows,
        {
            "partition": partition_of(
                F.when(invented, F.col("out_topic_partition")).otherwise(F.col("sent_to"))
            ),
            "copies": F.col("outputs"),
            "place": F.when(invented, F.col("place"))
            .when(_is(FindingClass.PREMATURE), early)
            .when(left_out & ~F.col("in_log"), F.lit("expired")),
            "reader": F.col("instance"),
            "windows": open_windows(views.meta.windows, begin, F.when(made >= begin, made), left_out),
        },
        evidence=lambda found: _blamed(found, history),
    )


def _blamed(rows: DataFrame, history: ApplicationHistory) -> DataFrame:
    """The rows with `instance` (string), the one that was started again before, and `checkpoint`, the last
    one before."""
    left_out = _is(FindingClass.UNPROCESSED)
    number = history.restarted_between(F.col("sent_ns"), F.col("made_ns"))
    instance = F.when(~left_out, F.concat(F.lit("instance "), number.cast("string")))
    return history.with_checkpoints(
        rows.withColumn("instance", instance),
        by_offset=left_out,
        partition=F.col("in_topic_partition"),
        bound=F.when(left_out, F.col("in_offset")).otherwise(F.col("made_ns")),
    )


def _is(finding: FindingClass) -> Column:
    return F.col("finding") == finding.value
