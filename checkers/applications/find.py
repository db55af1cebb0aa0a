"""Findings about the outputs of an application. A first query finds out whether there can be any."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from pyspark.sql import Column, DataFrame, Row, Window
from pyspark.sql import functions as F

from checkers.applications import classes
from checkers.applications.facts import as_facts, facts_of_inputs, outputs_of, unsent_outputs
from checkers.applications.history import ApplicationHistory, read_application, with_history
from checkers.applications.inputs import (
    INPUT,
    counted_outputs,
    inputs_of,
    known_identity,
    nameless,
    outputs_of_run,
    sends_of,
)
from checkers.applications.members import handled_by_members
from checkers.applications.not_handled import handled_records, with_cause
from checkers.applications.passing import PLACE, passing_times, times_are_known, with_times
from checkers.classes.classify import attempt, findings_of
from checkers.evidence.findings import is_of
from checkers.evidence.windows import open_windows
from checkers.found import Found
from checkers.journals.topic_partition import name_of, partition_of
from checkers.journals.views import Scratch, Views
from checkers.records.facts import OUTCOMES
from checkers.sql import comparable
from harness.model.application_meta import ApplicationMeta
from harness.model.finding_class import FindingClass
from harness.model.result import ABORTED_INPUT, INPUT_NOT_IN_LOG

_FIRST_OUTPUTS = (
    *(*INPUT, "key", "in_topic_partition", "in_offset"),
    *("out_topic_partition", "out_offset", "written_ns"),
)
"""One row per input and partition of the output: its first output there. Only of inputs whose offset can be
compared with those of others (`in_order` of `checkers.applications.inputs.INPUT_COLUMNS`)."""
_OF_SEND = ("sent_to", "step", "outcome", "sent_ns", "closed_ns", "acked_offset", "txn")
_NAMES = {
    "input": "in_topic_partition",
    "output": "out_topic_partition",
    "last_output": "last_topic_partition",
    "sent_to_name": "sent_to",
}


def find(views: Views, scratch: Scratch) -> Found:
    """Findings about the outputs of a run's application, if it has one. Of the summary: `inputs`, the number
    of inputs that it had to process, `processed`: of those, the number that have as many outputs as they
    should, or more (None: no output names its input, so it is not known), and `handled`."""
    application = views.meta.application
    if application is None:
        return Found()
    history = cache(
        lambda: attempt("the application's restarts and checkpoints", lambda: read_application(views))
    )
    if not application.deliveries:
        return _find(views, application, scratch, history)
    handled = scratch.materialize("handled-records", handled_records(views, application))
    found = _find(views, application, scratch, history, handled)
    restarts = (history()[0] or ApplicationHistory()).restarts
    of_members, problem = attempt(
        "what members handled",
        lambda: handled_by_members(views, application, handled, [at for at, _ in restarts]),
    )
    return found.with_problems(problem).with_summary(handled=of_members)


def _find(
    views: Views,
    application: ApplicationMeta,
    scratch: Scratch,
    history: Callable[[], tuple[ApplicationHistory | None, str | None]],
    handled: DataFrame | None = None,
) -> Found:
    sends = sends_of(views, repeated=views.repeated_sends != 0)
    inputs = inputs_of(views, application, sends)
    overview = _overview(views, application, inputs)
    if overview["nameless"] and overview["nameless"] == overview["outputs"]:
        # Neither what is missing nor what is there says anything about the application.
        why = _without_identity(application, overview["outputs"], overview["error"])
        return Found(problems=(why,)).with_summary(inputs=overview["inputs"])
    if not (overview["differing"] or overview["late"] or overview["others"]):
        return Found().with_summary(inputs=overview["inputs"], processed=overview["processed"])

    ordered = application.order != "none"
    kept = scratch.materialize("outputs-inputs", inputs if ordered else inputs.where(~F.col("ordinary")))
    differing = kept.where(~F.col("ordinary"))
    sent = differing.where(F.col("sent"))
    outputs = scratch.materialize("outputs-of-differing", outputs_of(views, application, sent))
    facts = scratch.materialize("outputs-facts", facts_of_inputs(views, application, sent, outputs))
    enough, missing = F.col("outputs") >= F.col("per_input"), F.col("outputs") < F.col("per_input")
    missing &= F.col("complete") & F.col("in_order")
    counts = facts.where("expected").agg(F.count_if(enough), F.count_if(missing)).collect()[0]
    processed = overview["processed"] + counts[0]
    if counts[1] and times_are_known(views.meta):
        places = (kept if ordered else inputs).where("in_order").select(*INPUT, "key", *PLACE)
        first = _first_in_partitions(places, outputs_of_run(views, application))
        passed = passing_times(facts.where(F.col("expected") & missing), first, views.meta.windows)
        passed = scratch.materialize("outputs-passed", passed)
        facts = facts.drop("passed_from_ns", "passed_until_ns").join(passed, list(PLACE), "left")
    all_facts = facts.unionByName(unsent_outputs(views, application, differing.where(~F.col("sent"))))
    if ordered:
        first = kept.where(F.col("ordinary") & _with_order(application)).select(*_FIRST_OUTPUTS)
        first = first.unionByName(_first_in_partitions(facts.where("in_order"), outputs))
        # With these values no other class applies to the row.
        yes = F.lit(True)
        columns = {"sent": yes, "in_log": yes, "offsets": F.array("out_offset")}
        all_facts = all_facts.unionByName(as_facts(_late(first, application), application, columns))
    known, problem = history()

    def evidence(classified: DataFrame) -> DataFrame:
        rows = with_history(with_times(classified, views.meta), known or ApplicationHistory())
        return with_cause(rows, views, application, handled)

    found = _findings(all_facts, sends, views, evidence).with_problems(problem)
    return found.with_summary(inputs=overview["inputs"], processed=processed)


def _overview(views: Views, application: ApplicationMeta, inputs: DataFrame) -> Row:
    """One row: the number of `inputs` to process, how many of the ordinary ones are `processed`, how many
    inputs are not ordinary (`differing`) or come after a later one in the output (`late`), how many rows
    of `outputs` count, how many of them carry no identity of this run (`others`) or none at all
    (`nameless`), and an `error` of theirs."""
    is_late = F.lit(False)
    if application.order != "none":
        ordered = _with_order(application)
        of_order = {name: F.when(ordered, F.col(name)) for name in _FIRST_OUTPUTS if name not in INPUT}
        inputs = inputs.withColumns(of_order).withColumn("overtaken_by", _overtaken_by(application))
        is_late = F.col("overtaken_by") > F.col("in_offset")
    of_inputs = inputs.agg(
        F.count_if("expected").alias("inputs"),
        F.count_if(F.col("expected") & F.col("ordinary")).alias("processed"),
        F.count_if(~F.col("ordinary")).alias("differing"),
        F.count_if(is_late).alias("late"),
    )
    of_outputs = counted_outputs(views, application).agg(
        F.count("*").alias("outputs"),
        F.count_if(~known_identity(views)).alias("others"),
        F.count_if(nameless()).alias("nameless"),
        F.min("error").alias("error"),
    )
    return of_inputs.crossJoin(of_outputs).collect()[0]


def _without_identity(application: ApplicationMeta, outputs: int, error: str | None) -> str:
    """That no output names its input, with the remedy."""
    return (
        f"none of the {outputs:,} outputs names its input by `identity: {application.identity}`"
        f"{f' ({error})' if error else ''}, so it is not known what the application has processed: let it "
        "pass on an identity, such as `id: $identity` of `workload: {payload: {json: {id: $identity}}}`, "
        "and say where outputs have it (`identity: {json: $.id}`)"
    )


def _overtaken_by(application: ApplicationMeta) -> Column:
    """The greatest `in_offset` (bigint) of all rows that are before this one in the output, and of the same
    partition of the input (and, if the application keeps the order of keys, of the same key); null: there are
    none. Takes rows of `_FIRST_OUTPUTS`.

    The inputs of one output have no order among themselves: here they are ordered by their offsets, so that
    none of them counts as overtaken by another one.
    """
    key = ["key"] if application.order == "key" else []
    window = Window.partitionBy("out_topic_partition", "in_topic_partition", *key)
    window = window.orderBy("out_offset", "in_offset").rowsBetween(Window.unboundedPreceding, -1)
    return F.max("in_offset").over(window)


def _with_order(application: ApplicationMeta) -> Column:
    """Whether the application promises an order for an ordinary input (rows of `INPUT_COLUMNS`)."""
    ordered = F.col("in_order") & (F.col("rows") == 1)
    return ordered & F.col("key").isNotNull() if application.order == "key" else ordered


def _late(first_outputs: DataFrame, application: ApplicationMeta) -> DataFrame:
    """The rows that come after a later input in the output, with `overtaken_by` (bigint), the offset of the
    latest such input."""
    if application.order == "key":
        first_outputs = first_outputs.where(F.col("key").isNotNull())
    rows = first_outputs.withColumn("overtaken_by", _overtaken_by(application))
    return rows.where(F.col("overtaken_by") > F.col("in_offset"))


def _first_in_partitions(facts: DataFrame, outputs: DataFrame) -> DataFrame:
    """Rows of `_FIRST_OUTPUTS` of inputs of which all outputs are known.

    Args:
        facts: their `key`, `in_topic_partition`, `in_offset`; only of those that are `in_order`.
        outputs: `topic_partition`, `offset` and `written_ns` of their outputs.
    """
    first = outputs.groupBy(*INPUT, F.col("topic_partition").alias("out_topic_partition")).agg(
        F.element_at(F.sort_array(F.collect_list(comparable("offset", "written_ns"))), 1).alias("first")
    )
    first = first.withColumns({"out_offset": F.col("first.offset"), "written_ns": F.col("first.written_ns")})
    of_input = facts.select(*INPUT, "key", "in_topic_partition", "in_offset")
    return first.join(of_input, list(INPUT)).select(*_FIRST_OUTPUTS)


def _findings(
    facts: DataFrame, sends: DataFrame, views: Views, evidence: Callable[[DataFrame], DataFrame]
) -> Found:
    """Findings about inputs and their outputs (rows of `checkers.applications.facts.FACTS`); `sends` are of
    `checkers.applications.inputs.sends_of`."""
    rows = facts.join(sends.select(*INPUT, *_OF_SEND), list(INPUT), "left")
    # What was never sent has an identity that no send has, or one of another run that one may have.
    of_send = {name: F.when(F.col("sent"), F.col(name)) for name in ("key", *_OF_SEND)}
    # Only an outcome that this version knows is named.
    of_send["outcome"] = F.when(F.col("sent") & F.col("outcome").isin(*OUTCOMES), F.col("outcome"))
    rows = rows.withColumns(of_send)
    rows = rows.withColumns({name: name_of(F.col(column), views.topics) for name, column in _NAMES.items()})
    invented, unprocessed = is_of(FindingClass.INVENTED), is_of(FindingClass.UNPROCESSED)
    early = F.when(F.col("aborted"), F.lit(ABORTED_INPUT)).otherwise(F.lit(INPUT_NOT_IN_LOG))
    return findings_of(
        classes.CLASSES,
        rows,
        {
            "partition": partition_of(
                F.when(invented, F.col("out_topic_partition")).otherwise(F.col("sent_to"))
            ),
            "copies": F.col("outputs"),
            "place": F.when(invented, F.col("place"))
            .when(is_of(FindingClass.PREMATURE), early)
            .when(unprocessed & ~F.col("in_log"), F.lit("expired"))
            .otherwise(F.col("cause")),
            "reader": F.col("instance"),
            "windows": open_windows(views.meta.windows, F.col("from_ns"), F.col("until_ns"), F.lit(False)),
        },
        evidence=evidence,
    )
