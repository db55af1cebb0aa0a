"""What PySpark lacks: CASE over a list, rows in the form of a schema, and Arrow schemas as DDL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_type


def sql_types(schema: pa.Schema) -> dict[str, str]:
    """The columns of an Arrow schema with Spark's names of their types, such as `array<bigint>`."""
    return {field.name: from_arrow_type(field.type).simpleString() for field in schema}


def ddl(schema: pa.Schema) -> str:
    """An Arrow schema as Spark's DDL ("name type, name type")."""
    return ", ".join(f"`{name}` {kind}" for name, kind in sql_types(schema).items())


def conform(
    rows: DataFrame,
    types: Mapping[str, str],
    columns: Mapping[str, Column] | None = None,
    *,
    default: Mapping[str, object] | None = None,
) -> DataFrame:
    """The rows with exactly the columns of `types` (Spark's type of each): those of `columns`, else those
    that `rows` has, else `default` (null if it has none)."""
    values, present, default = columns or {}, set(rows.columns), default or {}
    chosen = {
        name: values.get(name, F.col(name) if name in present else F.lit(default.get(name))) for name in types
    }
    return rows.select(*(value.cast(types[name]).alias(name) for name, value in chosen.items()))


def case(cases: Sequence[tuple[Column, Column]]) -> Column:
    """The value of the first condition that holds; null where none does.

    However many conditions there are, the expression is flat: the client of Spark Connect refuses those that
    are nested some fifty deep, as `F.when(...).otherwise(F.when(...))` is."""
    if not cases:
        return F.lit(None)
    chosen = F.when(*cases[0])
    for condition, value in cases[1:]:
        chosen = chosen.when(condition, value)
    return chosen


def union(rows: Sequence[DataFrame]) -> DataFrame:
    """All rows of one or more DataFrames that have the same columns. Halves are joined, since engines and
    their client refuse plans that are nested hundreds deep."""
    if len(rows) == 1:
        return rows[0]
    half = len(rows) // 2
    return union(rows[:half]).unionByName(union(rows[half:]))


def comparable(*columns: str | tuple[str, Column]) -> Column:
    """These columns, or names with columns, as a struct that every engine orders alike, null before all
    values: for min, max, min_by and sorted lists. Each is a field under its name.

    Of plain structs, Sail and DuckDB take null for the greatest value in aggregates, Apache Spark for the
    least. So a field that is never null, and says whether there is a value, comes before each.
    """
    named = ((column, F.col(column)) if isinstance(column, str) else column for column in columns)
    fields = ((value.isNotNull().alias(f"has_{name}"), value.alias(name)) for name, value in named)
    return F.struct(*chain.from_iterable(fields))


def constants(names: Sequence[str], rows: Sequence[Sequence[object]]) -> Column:
    """A small table as an array of structs, for `F.filter` and `F.transform`; not to be compared."""
    return F.array(
        *(
            F.struct(*(F.lit(value).alias(name) for name, value in zip(names, row, strict=True)))
            for row in rows
        )
    )


def greatest_of(column: Column, order: Sequence[str]) -> Column:
    """Of a group of rows, the value of a column of strings that comes last in `order`; null if none of them
    has a value that is in it."""
    number = F.max(case([(column == value, F.lit(index)) for index, value in enumerate(order)]))
    return case([(number == index, F.lit(value)) for index, value in enumerate(order)])
