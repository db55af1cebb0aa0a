"""Where Sail answers otherwise than Apache Spark: each row of the page is asked of both."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from checkers.engine.failures import is_failure
from checkers.journals.views import is_embedded
from checkers.questions.differences import DIFFERENCES, NAN_IN_FILES, differences_in

pytestmark = pytest.mark.spark

AN_ERROR = "an error"


def answer(spark: SparkSession, query: str) -> str:
    """The first value of the answer, as the page has it."""
    try:
        value = spark.sql(query).toArrow().to_pylist()[0].popitem()[1]
    except Exception as error:
        if not is_failure(error) and not isinstance(error, pa.ArrowException):
            raise
        return AN_ERROR
    return (
        {None: "null", True: "true", False: "false"}.get(value, str(value))
        if (value is None or isinstance(value, bool))
        else str(value)
    )


@pytest.fixture(scope="module")
def sail(spark: SparkSession) -> SparkSession:
    if not is_embedded(spark):
        pytest.skip("the tier runs on Apache Spark")
    return spark


def test_sail_answers_as_the_page_says(sail: SparkSession) -> None:
    told = {one.example: one.sail for one in DIFFERENCES}
    found = {one.example: answer(sail, one.example) for one in DIFFERENCES}
    assert found == told, "Sail has changed: correct the rows of checkers/questions/differences.py"


def test_apache_spark_answers_as_the_page_says(apache_spark: SparkSession) -> None:
    told = {one.example: one.spark for one in DIFFERENCES}
    assert {one.example: answer(apache_spark, one.example) for one in DIFFERENCES} == told


def test_what_to_write_instead_has_one_answer(sail: SparkSession, apache_spark: SparkSession) -> None:
    found = {one.same: answer(sail, one.same) for one in DIFFERENCES}
    assert AN_ERROR not in found.values()
    assert {one.same: answer(apache_spark, one.same) for one in DIFFERENCES} == found


def test_a_parquet_file_with_nan(sail: SparkSession, apache_spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"x": pa.array([float("nan"), 5.5, 5.5])}), path)
    query = f"select concat_ws(', ', collect_list(cast(x as string))) from parquet.`{path}`"
    assert answer(sail, query) == NAN_IN_FILES.sail
    assert answer(apache_spark, query) == NAN_IN_FILES.spark
    assert differences_in(query) == [f"{NAN_IN_FILES.what}: {NAN_IN_FILES.instead}"]
