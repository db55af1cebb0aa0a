"""The facts about inputs that are not ordinary, and about outputs without an input."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from checkers.applications.inputs import (
    INPUT,
    counted_outputs,
    known_identity,
    outputs_of_run,
    reads_of_run,
)
from checkers.evidence.findings import MOST_OFFSETS
from checkers.evidence.sentences import if_null, say, text
from checkers.int64 import INT64_MIN
from checkers.journals.views import Views
from checkers.sql import case, comparable, conform
from harness.model.application_journal import UNMAPPED
from harness.model.application_meta import ApplicationMeta
from harness.model.journal import ReadState

_FLAGS = ("sent", "in_log", "aborted", "by_policy", "expected", "in_order", "complete")
_NUMBERS = (
    *("key", "in_topic_partition", "in_offset", "per_input", "allowed", "outputs", "out_topic_partition"),
    *("out_offset", "first_ns", "last_topic_partition", "last_offset", "written_ns", "passed_from_ns"),
    *("passed_until_ns", "overtaken_by"),
)
FACTS = {
    "producer": "int",
    "seq": "bigint",
    **dict.fromkeys(_FLAGS, "boolean"),
    **dict.fromkeys(_NUMBERS, "bigint"),
    "offsets": "array<bigint>",
    "why": "string",
    "place": "string",
}
"""What is known of an input and its outputs, one row per input, and one per output that has none.

`sent` to `in_order`, `key`, `in_topic_partition` and `in_offset` are as in
`checkers.applications.inputs.INPUT_COLUMNS`. `complete`: the application was drained, and its output was read
to its end. `per_input` is the number of outputs that an input should have, `allowed` the most that it may
have: a record that the input holds twice may be processed twice. `outputs` is the number of its outputs, at
different offsets; the first in time is `out_offset` of `out_topic_partition`, written at `first_ns`, the last
`last_offset` of `last_topic_partition`, written at `written_ns` (null: it has no time). `passed_from_ns` and
`passed_until_ns` are as in `checkers.applications.passing.passing_times`, of inputs that have too few
outputs. `offsets` are the first few of them, ascending. `overtaken_by`: the application promises an order,
and the output of a later input, which is at this offset, comes before the first output of this one. `why` and
`place` say of an output without an input how that is known. Booleans and numbers of outputs are never null.
"""

_WHY = {
    ReadState.FOREIGN.value: "it carries the identity of another run",
    ReadState.CORRUPT.value: "the checksum of its identity does not match",
    ReadState.UNDECODABLE.value: "it carries no identity",
    UNMAPPED: "the identity of the application maps it to none",
}


def as_facts(rows: DataFrame, application: ApplicationMeta, columns: Mapping[str, Column]) -> DataFrame:
    """The rows with exactly the columns of `FACTS`: those of `columns`, else those that `rows` have, else
    null (false, and 1 output of 1)."""
    default = dict.fromkeys(_FLAGS, False) | {
        "complete": application.drained and application.read_complete,
        "per_input": application.outputs_per_input,
        "outputs": 1,
        "allowed": 1,
    }
    return conform(rows, FACTS, columns, default=default)


def outputs_of(views: Views, application: ApplicationMeta, inputs: DataFrame) -> DataFrame:
    """Each output of these inputs once (`topic_partition`, `offset`), with the earliest `written_ns` that the
    journal has of it (null if one row of it has none)."""
    rows = outputs_of_run(views, application).join(inputs.select(*INPUT), list(INPUT), "left_semi")
    written = F.nullif(F.min(F.coalesce("written_ns", F.lit(INT64_MIN))), F.lit(INT64_MIN))
    return rows.groupBy(*INPUT, "topic_partition", "offset").agg(written.alias("written_ns"))


def facts_of_inputs(
    views: Views, application: ApplicationMeta, inputs: DataFrame, outputs: DataFrame
) -> DataFrame:
    """Rows of `FACTS` of inputs that this run sent (rows of `checkers.applications.inputs.INPUT_COLUMNS`) and
    their outputs (`outputs_of`)."""
    reads = reads_of_run(views).join(inputs.select(*INPUT), list(INPUT), "left_semi")
    position = comparable("topic_partition", "offset")
    copies = reads.distinct().groupBy(*INPUT).agg(F.sort_array(F.collect_list(position)).alias("copies"))
    rows = inputs.drop("rows", "out_topic_partition", "out_offset", "written_ns")
    rows = rows.join(copies, list(INPUT), "left").join(_outputs_per_input(outputs), list(INPUT), "left")
    first = F.element_at("copies", 1)
    allowed = F.coalesce(F.size("copies"), F.lit(1)).cast("bigint") * application.outputs_per_input
    return as_facts(
        rows,
        application,
        {
            "in_topic_partition": F.coalesce(first["topic_partition"], "in_topic_partition"),
            "in_offset": F.coalesce(first["offset"], "in_offset"),
            "allowed": allowed,
            "outputs": F.coalesce("outputs", F.lit(0).cast("bigint")),
            "offsets": F.coalesce("offsets", F.array().cast("array<bigint>")),
        },
    )


def _outputs_per_input(outputs: DataFrame) -> DataFrame:
    """The outputs of each input: their number, the first and the last in time, and the first offsets."""
    # Outputs without a time come first. Engines compute lists faster than least and greatest structs, or
    # windows of a few rows each.
    output = comparable("written_ns", "topic_partition", "offset")
    listed = outputs.groupBy(*INPUT).agg(F.sort_array(F.collect_list(output)).alias("all"))
    first, last = F.element_at("all", 1), F.element_at("all", -1)
    offsets = F.sort_array(F.transform("all", lambda output: output["offset"]))
    return listed.select(
        *INPUT,
        F.size("all").cast("bigint").alias("outputs"),
        first["topic_partition"].alias("out_topic_partition"),
        first["offset"].alias("out_offset"),
        first["written_ns"].alias("first_ns"),
        last["topic_partition"].alias("last_topic_partition"),
        last["offset"].alias("last_offset"),
        last["written_ns"].alias("written_ns"),
        F.slice(offsets, 1, MOST_OFFSETS).alias("offsets"),
    )


def unsent_outputs(views: Views, application: ApplicationMeta, unsent: DataFrame) -> DataFrame:
    """Rows of `FACTS` of outputs that count and have no input, one per row of the journal; `unsent` are
    identities of this run that outputs carry and that it never sent."""
    never_sent = unsent.select(*INPUT, F.lit(True).alias("unsent"))
    rows = counted_outputs(views, application).join(never_sent, list(INPUT), "left")
    never = text("this run never sent seq {seq:none} of producer {producer:none}")
    state = F.col("state")
    known = state.eqNullSafe(ReadState.OK.value)
    reason = if_null(case([(state == name, F.lit(why)) for name, why in _WHY.items()]), _WHY[UNMAPPED])
    other = say(reason, if_null(" ({error})", ""))
    return as_facts(
        rows.where(~known_identity(views) | F.col("unsent")),
        application,
        {
            "out_topic_partition": F.col("topic_partition"),
            "out_offset": F.col("offset"),
            "offsets": F.array("offset"),
            "allowed": F.lit(0),
            "why": F.when(known, never).otherwise(other),
            "place": F.when(known, F.lit("never sent")).when(state.isin(*_WHY), state),
        },
    )
