"""Queries over saved runs, on an engine: the views of one run for `kafka-chaos sql` and for Python, and
`kafka-chaos rates` over many."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from checkers import EngineChoice, engine_word
from harness.check_jobs import engines
from harness.model.errors import JournalError
from harness.model.journal import RUN_FILE
from harness.model.progress import report_progress
from harness.model.run import RunMeta
from harness.model.storage import StoragePath, matching, storage_path

if TYPE_CHECKING:
    from checkers import Rates, RunViews

RATES_DIR = "rates.parquet"


def views(run: str | Path, engine: str | None = None) -> RunViews:
    """The views of a saved run as DataFrames of PySpark, by name: `views(run)["records"]`.

    `views(run).sql("select ...")` answers a query. docs/how-to/ask-your-own-questions.md shows which views
    there are, and what people ask them. All runs are opened in one session for each engine, so DataFrames of
    several runs can be joined.

    Args:
        run: folder of one run: a path or a URL.
        engine: "spark" (Apache Spark) or "sail" (embedded); None: the one that `kafka-chaos check` would use.

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
    started = engines.open_engine(engines.decide_for(choice, folder))
    with engine_failures(folder):
        return views_of(started.session(), folder)


def run_rates(
    results: str, by: Sequence[str], *, latencies: bool, parquet: str | None, engine: EngineChoice
) -> tuple[Rates, StoragePath]:
    """The rates of all runs below a folder or URL, and the Parquet file to which they were written; by Apache
    Spark, unless another engine is asked for.

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
    started = engines.open_engine(engines.require_engine(engine))
    spark = started.session()
    report_progress(f"adding up the runs with {started.describe()}")
    target = storage_path(parquet) if parquet is not None else folder / RATES_DIR
    return rates_of_runs(spark, folder, by, latencies=latencies, parquet=target), target
