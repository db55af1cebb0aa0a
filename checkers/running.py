"""Where the tasks of a check run: in this process if the run is small, else on Spark."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa
from pyspark.sql import SparkSession

Task = Callable[[], bytes]
"""A piece of work that Spark can send to another machine."""

LOCAL_ROWS = 40_000_000
"""Runs with up to as many rows in all journals are checked in this process: starting Spark would take longer
than the check."""

ANSWER = pa.schema([("answer", pa.binary())])
ANSWER_DDL = "answer binary"


class Runner(Protocol):
    """Runs tasks, `side_by_side` of them at a time."""

    @property
    def side_by_side(self) -> int: ...

    def run(self, tasks: Sequence[Task]) -> list[bytes]:
        """What the tasks return, in no order."""
        ...


class ThisProcess:
    """Runs tasks in threads: numpy and Arrow, which do the work, need no interpreter lock."""

    @property
    def side_by_side(self) -> int:
        return os.cpu_count() or 1

    def run(self, tasks: Sequence[Task]) -> list[bytes]:
        if len(tasks) <= 1:
            return [task() for task in tasks]
        with ThreadPoolExecutor(min(len(tasks), self.side_by_side), thread_name_prefix="check") as pool:
            return list(pool.map(lambda task: task(), tasks))


@dataclass(frozen=True)
class OnSpark:
    """Runs tasks as one Spark job."""

    session: Callable[[], SparkSession]
    side_by_side = 1

    def run(self, tasks: Sequence[Task]) -> list[bytes]:
        if not tasks:
            return []
        numbers = self.session().range(0, len(tasks), 1, len(tasks))
        answers = numbers.mapInArrow(_RunNumbered(tuple(tasks)), ANSWER_DDL)
        return [bytes(row.answer) for row in answers.collect()]


@dataclass(frozen=True)
class _RunNumbered:
    """For `mapInArrow` over the numbers of tasks."""

    tasks: tuple[Task, ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield answer_batch(self.tasks[number]())


def answer_batch(data: bytes) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([data], pa.binary())], schema=ANSWER)
