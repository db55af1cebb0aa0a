"""Which views a query can name, which texts are queries, and what is wrong with a query that failed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from textwrap import shorten

from pyspark import errors
from pyspark.sql import DataFrame

from harness.model.errors import BadInput, did_you_mean
from harness.model.storage import StoragePath

FIRST_WORDS = ("select", "with", "values", "from", "table", "explain", "describe", "desc", "show")
"""First words of statements that only read."""

VIEW_DESCRIPTIONS = {
    "records": "one row per record: what was sent, beside what was read, and the finding about it",
    "sends": "one row per send",
    "reads": "one row per record of the final read",
    "findings": "one row per finding of the check",
    "faults": "one row per injected fault, with the time in which it was open",
    "steps": "one row per step of the experiment",
    "samples": "one row per broker and partition, every 250 ms",
    "fault_events": "one row per moment in the life of a fault",
    "committed": "one row per record of the final read of committed records",
    "transactions": "one row per transaction",
    "live": "one row per record that a live reader got",
    "assignments": "one row per partition that was assigned to a live reader or taken from it",
    "commits": "one row per offset that a live reader committed or tried to commit",
    "offsets": "one row per answer about a committed offset",
    "replicas": "one row per record in a replica's own files",
    "checkpoints": "one row per entry of a broker's checkpoint files",
    "answers": "one row per answer of a broker to a question of an ask step",
    "sent_ids": "one row per send of your own producers whose record has an id of its own or a key",
    "log_ids": "one row per record of the final read that has an id of its own",
    "outputs": "one row per output of the application",
    "handler_failures": "one row per record on which the handler of the application has failed",
    "application": "one row per event in the life of an application's instance",
    "deliveries": "one row per record that a member of a share group was given",
    "share_offsets": "one row per answer about the start offset of a share group",
    "share_events": "one row per event of a member of a share group",
}
"""What a row of each view is, in the order in which views are listed."""

FINDING_COLUMNS = ("finding", "windows", "detail")
"""Columns of the view `records` that only a run that was checked has."""

QUERY_ERRORS = (
    errors.AnalysisException,
    errors.ArithmeticException,
    errors.ArrayIndexOutOfBoundsException,
    errors.DateTimeException,
    errors.IllegalArgumentException,
    errors.SparkRuntimeException,
    errors.UnsupportedOperationException,
)
"""What engines raise if the query, or a value in it, is wrong."""

_MESSAGE_LENGTH = 300
"""Characters of an engine's message that are shown; Sail lists every word that it had expected."""

_COMMENTS = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
_NO_VIEW = re.compile(r"view not found: `?([\w.]+)|table or view (`[\w.`]+`)", re.IGNORECASE)
_NO_COLUMN = re.compile(
    r"with name (`[^ ]+`) cannot be resolved"
    r'|ObjectName\(\[(?:.*, )?Identifier\("([^"]+)"\)\]\) is missing'
)
"""How Apache Spark and Sail name a view or a column that does not exist."""
_LISTED = "`--views` lists the views with their columns"


def query_words(query: str) -> list[str]:
    """The words of a query, in lower case, without comments.

    Raises:
        BadInput: it is no query.
    """
    words = re.findall(r"\w+", _COMMENTS.sub(" ", query).lower())
    if not words or words[0] not in FIRST_WORDS:
        raise BadInput(
            "this is no query",
            where=one_line(query) or "an empty text",
            expected=f"SQL that begins with {', '.join(FIRST_WORDS[:-1])} or {FIRST_WORDS[-1]}",
            next_step='for example: "select outcome, count(*) from sends group by outcome"',
        )
    return words


def one_line(query: str) -> str:
    return " ".join(query.split())


def query_error(
    query: str, message: str, views: Mapping[str, DataFrame], *, checked: bool, folder: StoragePath
) -> BadInput:
    """What is wrong with a query over these views, from the message of the engine."""
    where, check = one_line(query), f"run `kafka-chaos check {folder}` first"
    view, column = _name_in(message, _NO_VIEW), _name_in(message, _NO_COLUMN)
    if view is not None:
        if view == "findings":
            what, step = "the run was not checked, so it has no findings", check
        elif view in VIEW_DESCRIPTIONS:
            what = f"this run has no view {view!r}: it has no such journal"
            step = "ask another view; `--views` lists them"
        else:
            what, step = f"there is no view {view!r}", did_you_mean(view, views, _LISTED)
        return BadInput(what, where=where, expected=", ".join(views), next_step=step)
    if column in FINDING_COLUMNS and not checked:
        return BadInput(
            f"the run was not checked, so no record has a {column!r}", where=where, next_step=check
        )
    if column is not None:
        columns = {name: views[name].columns for name in views if name in query_words(query)}
        names = [column for several in columns.values() for column in several]
        return BadInput(
            f"there is no column {column!r}",
            where=where,
            expected="; ".join(f"{name}: {', '.join(several)}" for name, several in columns.items()) or None,
            next_step=did_you_mean(column, names, _LISTED),
        )
    return BadInput(
        "the query cannot be answered",
        where=where,
        found=shorten(message, _MESSAGE_LENGTH, placeholder=" ..."),
        next_step="correct it; it is Spark's SQL, of which Sail lacks a little (--engine spark)",
    )


def _name_in(message: str, pattern: re.Pattern[str]) -> str | None:
    """The name of the view or column that does not exist, without its qualifier; None: the message is about
    something else."""
    match = pattern.search(message)
    return None if match is None else (match[1] or match[2]).replace("`", "").rpartition(".")[2]
