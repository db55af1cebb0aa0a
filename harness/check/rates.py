"""`kafka-chaos rates`: the Spark job over run folders."""

from __future__ import annotations

from collections.abc import Sequence

from checkers.rates.aggregate import Rates
from harness.model.progress import report_progress
from harness.model.storage import StoragePath, place

RATES_DIR = "rates.parquet"


def run_rates(
    results: str, by: Sequence[str], *, latencies: bool, parquet: str | None, driver_memory: str
) -> tuple[Rates, StoragePath]:
    """The rates of all runs below a folder or URL, and the Parquet file to which they were written.

    Raises:
        BadInput, JournalError, CheckError, PrerequisiteMissing: as `checkers.rates.aggregate.rates` and the
            start of Spark say.
    """
    from checkers.rates.aggregate import rates
    from checkers.spark.session import spark_session
    from harness.model.errors import JournalError

    folder = place(results)
    if not folder.is_dir():
        raise JournalError(
            "there is no such folder",
            where=results,
            expected="a folder of results",
            next_step="pass a folder that contains runs",
        )
    report_progress("starting Spark")
    spark = spark_session(driver_memory=driver_memory)
    report_progress("adding up the runs")
    target = place(parquet) if parquet is not None else folder / RATES_DIR
    return rates(spark, folder, by, latencies=latencies, parquet=target), target
