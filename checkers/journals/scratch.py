"""Intermediate results of a check, written as Parquet once, so that what follows reads them instead of
computing them again."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from checkers.journals.views import engine_path, readable_path
from harness.model.storage import StoragePath


@dataclass(frozen=True)
class Scratch:
    """A folder for the intermediate results of one check."""

    spark: SparkSession
    folder: StoragePath

    def materialize(self, name: str, rows: DataFrame) -> DataFrame:
        """The same rows, written to a folder of this name, which must be new."""
        rows.write.parquet(engine_path(self.spark, self.folder / name))
        return self.spark.read.schema(rows.schema).parquet(readable_path(self.spark, self.folder / name))
