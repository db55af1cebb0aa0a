"""Where the tasks of a check run: in this process if the run is small, else on Spark."""

from __future__ import annotations

import gc
import os
import pickle
import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import pyarrow as pa
from pyspark.sql import SparkSession

Task = Callable[[Any], bytes]
"""A piece of work that Spark can send to another machine; it is called with what the tasks of a job share."""

LOCAL_ROWS = 40_000_000
"""Runs with up to as many rows in all journals are checked in this process: starting Spark would take longer
than the check."""

MOST_THREADS = 4

ANSWER = pa.schema([("answer", pa.binary())])
ANSWER_DDL = "answer binary"


class Runner(Protocol):
    """Runs tasks, `side_by_side` of them at a time; `in_one_process`: they can share what they have read."""

    @property
    def side_by_side(self) -> int: ...
    @property
    def in_one_process(self) -> bool: ...

    def run(self, shared: Any, tasks: Sequence[Task]) -> list[bytes]:
        """What the tasks return, in no order."""
        ...


class ThisProcess:
    """Runs tasks in threads: numpy and Arrow, which do the work, need no interpreter lock."""

    in_one_process = True

    @property
    def side_by_side(self) -> int:
        # More threads than these would wait for the interpreter lock, and each needs memory.
        return min(os.cpu_count() or 1, MOST_THREADS)

    def run(self, shared: Any, tasks: Sequence[Task]) -> list[bytes]:
        waiting: queue.SimpleQueue[Task] = queue.SimpleQueue()
        for task in tasks:
            waiting.put(task)
        answers: list[bytes] = []
        failed: list[BaseException] = []

        def work() -> None:
            while not failed:
                try:
                    answers.append(waiting.get_nowait()(shared))
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
    in_one_process = False

    def run(self, shared: Any, tasks: Sequence[Task]) -> list[bytes]:
        if not tasks:
            return []
        numbers = self.session().range(0, len(tasks), 1, len(tasks))
        # Each by itself: a job of hundreds of tasks would spend its time on loading all of them in each.
        pickled = tuple(pickle.dumps(task, protocol=5) for task in tasks)
        work = _RunNumbered(pickle.dumps(shared, protocol=5), pickled)
        return [bytes(row.answer) for row in numbers.mapInArrow(work, ANSWER_DDL).collect()]


@dataclass(frozen=True)
class _RunNumbered:
    """For `mapInArrow` over the numbers of tasks."""

    shared: bytes
    tasks: tuple[bytes, ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                # Pickled by the driver of this very check.
                task = pickle.loads(self.tasks[number])
                yield answer_batch(task(_shared(self.shared)))


@lru_cache(maxsize=1)
def _shared(pickled: bytes) -> Any:
    """What all tasks of a job share, loaded once in each of Spark's workers."""
    # PySpark collects garbage after every task, which takes a third of a worker's time while all modules and
    # what is shared count as possible garbage.
    found = pickle.loads(pickled)
    gc.freeze()
    return found


def answer_batch(data: bytes) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([data], pa.binary())], schema=ANSWER)
