"""What PySpark lacks: CASE over a list, rows in the form of a schema, and Arrow schemas as DDL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
    found = {
        name: values.get(name, F.col(name) if name in present else F.lit(default.get(name))) for name in types
    }
    return rows.select(*(value.cast(types[name]).alias(name) for name, value in found.items()))


def case(cases: Sequence[tuple[Column, Column]]) -> Column:
    """The value of the first condition that holds; null where none does."""
    if not cases:
        return F.lit(None)
    chosen = F.when(*cases[0])
    for condition, value in cases[1:]:
        chosen = chosen.when(condition, value)
    return chosen


def greatest_of(column: Column, order: Sequence[str]) -> Column:
    """Of a group of rows, the value of a column of strings that comes last in `order`; null if none of them
    has a value that is in it."""
    number = F.max(case([(column == value, F.lit(index)) for index, value in enumerate(order)]))
    return case([(number == index, F.lit(value)) for index, value in enumerate(order)])
