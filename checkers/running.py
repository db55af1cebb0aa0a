"""Where the tasks of a check run: in this process if the run is small, else on Spark."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa
from pyspark.sql import SparkSession

Task = Callable[[], bytes]
"""A piece of work that Spark can send to another machine."""

LOCAL_ROWS = 40_000_000
"""Runs with up to as many rows in all journals are checked in this process: starting Spark would take longer
than the check."""

MOST_THREADS = 4

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
        # More threads than these would wait for the interpreter lock, and each needs memory.
        return min(os.cpu_count() or 1, MOST_THREADS)

    def run(self, tasks: Sequence[Task]) -> list[bytes]:
        waiting: queue.SimpleQueue[Task] = queue.SimpleQueue()
        for task in tasks:
            waiting.put(task)
        answers: list[bytes] = []
        failed: list[BaseException] = []

        def work() -> None:
            while not failed:
                try:
                    answers.append(waiting.get_nowait()())
                except queue.Empty:
                    return
                except BaseException as error:  # raised again below
                    failed.append(error)

        # Daemons, unlike those of an executor, so that an interrupted process need not wait for them.
        threads = [
            threading.Thread(target=work, name="check", daemon=True)
            for _ in range(min(len(tasks), self.side_by_side))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failed:
            raise failed[0]
        return answers


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
