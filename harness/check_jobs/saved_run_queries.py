"""Queries over saved runs, on an engine: the views of one run for `kafka-chaos sql` and for Python, and
`kafka-chaos rates` over many."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from checkers import ENGINE_VARIABLE, Decision, EngineChoice, engine_word
from harness.check_jobs import engines
from harness.check_jobs.spark_jars import S3, is_on_s3, jars_of
from harness.model.errors import BadInput, JournalError, PrerequisiteMissing
from harness.model.journal import RUN_FILE
from harness.model.progress import report_progress
from harness.model.run import RunMeta
from harness.model.storage import StoragePath, matching, storage_path

if TYPE_CHECKING:
    import pyarrow as pa

    from checkers import AnswerComparison, Rates, RunViews

_BOTH = {"Apache Spark": "spark", "Sail": "sail"}


def views(run: str | Path, engine: str | None = None) -> RunViews:
    """The views of a saved run as DataFrames of PySpark, by name: `views(run)["records"]`.

    `views(run).sql("select ...")` answers a query. docs/how-to/ask-your-own-questions.md shows which views
    there are, and what people ask them. All runs are opened in one session for each engine, so DataFrames of
    several runs can be joined.

    Args:
        run: folder of one run: a path or a URL.
        engine: "spark" (Apache Spark) or "sail" (embedded); None: Apache Spark, or Sail where there is no
            Java or too little memory, since Sail answers some queries otherwise
            (docs/explanation/engines.md).

    Raises:
        JournalError: the folder holds no run, or one of another version.
        BadInput: there is no such engine.
        PrerequisiteMissing, CheckError: the engine could not be started, or failed.
    """
    from checkers import engine_failures, views_of

    folder = storage_path(run)
    choice = EngineChoice(engine_word(engine or "auto", where="--engine"))
    arms = [] if (folder / RUN_FILE).exists() else matching(folder, f"*/{RUN_FILE}")
    if arms:
        raise JournalError(
            "this is not one run, but several",
            where=str(folder),
            expected="the folder of one arm",
            found=", ".join(path.parent.name for path in arms),
            next_step=f"name one of them: {arms[0].parent}",
        )
    RunMeta.load(folder)  # refuses an unusable folder before an engine starts
    started = engines.open_engine(decide_for_questions(choice, folder))
    with engine_failures(folder):
        return views_of(started.session(), folder)


def decide_for_questions(choice: EngineChoice, folder: StoragePath) -> Decision:
    """The engine for a user's own questions about a saved run: if nothing else is said, Apache Spark, whose
    SQL the language is, and Sail where this machine cannot run it.

    Raises:
        BadInput: there is no such engine.
        PrerequisiteMissing: Apache Spark was asked for, and there is no Java.
    """
    sized = choice.for_rows(engines.rows_in(folder))
    try:
        return engines.require_engine(sized)
    except PrerequisiteMissing as missing:
        if choice.engine != "auto" or os.environ.get(ENGINE_VARIABLE, "auto") != "auto":
            raise
        return Decision(replace(sized, engine="sail"), f"using Sail, since {missing.what}")


def answer_of_both(run: str | Path, query: str) -> tuple[pa.Table, AnswerComparison]:
    """The answer of Apache Spark to a query about a saved run, and how that of Sail compares. Where one
    engine alone cannot answer it, that is the difference, and the answer is that of the other.

    Raises:
        as `views`; BadInput: neither engine can answer the query.
    """
    from checkers import AnswerComparison, ask, compare_answers

    answers: dict[str, pa.Table] = {}
    refusals: dict[str, BadInput] = {}
    for name, engine in _BOTH.items():
        try:
            answers[name] = ask(views(run, engine), query).table
        except BadInput as error:
            refusals[name] = error
    if not answers:
        raise next(iter(refusals.values()))
    if refusals:
        (name, refusal), (other, table) = next(iter(refusals.items())), next(iter(answers.items()))
        line = f"{name} cannot answer it ({refusal.found or refusal.what}); the rows are those of {other}"
        return table, AnswerComparison(False, (line,))
    first, second = answers
    return answers[first], compare_answers(answers[first], answers[second], (first, second))


def run_rates(results: str, by: Sequence[str], *, latencies: bool, engine: EngineChoice) -> Rates:
    """The rates of all runs below a folder or URL; by Apache Spark, unless another engine is asked for.

    Raises:
        BadInput, JournalError, CheckError, PrerequisiteMissing: as `checkers.rates.aggregate.rates_of_runs`
            and the start of the engine say.
    """
    from checkers import rates_of_runs

    folder = storage_path(results)
    if not folder.is_dir():
        raise JournalError(
            "there is no such folder",
            where=results,
            expected="a folder of results",
            next_step="pass a folder that contains runs",
        )
    decision = engines.require_engine(engine)
    if is_on_s3(folder) and decision.engine == "spark" and not decision.choice.is_connect:
        decision = replace(decision, choice=replace(decision.choice, jars=jars_of(S3)))
    started = engines.open_engine(decision)
    spark = started.session()
    report_progress(f"adding up the runs with {started.describe()}")
    return rates_of_runs(spark, folder, by, latencies=latencies)
