"""How long a cluster of three brokers and a controller takes to start, and where the seconds go.

python -m tests.bench.boot [repeats] [--profile]
"""

from __future__ import annotations

import re
import statistics
import tempfile
import time
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from harness.cluster.managed import ManagedCluster
from tests.bench.rows import Row, table

_LINE = re.compile(r"^\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3})\] ", re.MULTILINE)
_STARTED = "Kafka Server started"
_UNFENCED = "to unfence has been granted"


def rows(repeats: int = 7) -> list[Row]:
    """Seconds until every broker is registered and a new topic has a full ISR."""
    seconds = []
    for _ in range(repeats):
        with ManagedCluster() as cluster:
            seconds.append(cluster.start_seconds)
    return [Row.of("boot of 3 brokers and a controller", "s", seconds, goal=4.0)]


def profile(repeats: int) -> dict[str, list[float]]:
    """Seconds after the command until each of these has happened, of each of several boots. The nodes' logs
    say it, in the time of the brokers, which is this machine's."""
    moments: defaultdict[str, list[float]] = defaultdict(list)
    for _ in range(repeats):
        with tempfile.TemporaryDirectory(prefix="kafka-chaos-bench-boot-") as folder:
            began = time.time()
            with ManagedCluster(log_folder=Path(folder)) as cluster:
                ready = cluster.start_seconds
            logs = {path.stem: path.read_text() for path in Path(folder).glob("*.log")}
        (controller,) = (log for name, log in logs.items() if name.startswith("controller"))
        brokers = [log for name, log in logs.items() if name.startswith("broker")]
        unfenced = [line for line in controller.splitlines() if _UNFENCED in line]
        at = {
            "the controller's JVM logs its first line": [controller],
            "every broker's JVM has logged its first line": brokers,
            "the controller has started": [_from(_STARTED, controller)],
            "every broker is unfenced": unfenced[: len(brokers)],
        }
        for what, lines in at.items():
            moments[what].append(max(map(_seconds, lines)) - began)
        moments["a new topic has a full ISR: the cluster is ready"].append(ready)
    return moments


def _from(text: str, log: str) -> str:
    """The line of a log that holds a text."""
    return next(line for line in log.splitlines() if text in line)


def _seconds(text: str) -> float:
    """The time of the first line, in seconds since the epoch."""
    found = _LINE.search(text)
    assert found is not None, f"no time of a log line in {text[:200]!r}"
    return datetime.strptime(found[1], "%Y-%m-%d %H:%M:%S,%f").replace(tzinfo=UTC).timestamp()


def main(
    repeats: Annotated[int, typer.Argument(help="Clusters to start.")] = 7,
    phases: Annotated[bool, typer.Option("--profile", help="Print when each phase was over.")] = False,
) -> None:
    """Measure how long a cluster takes to start."""
    console = Console(width=160)
    if not phases:
        console.print(table(rows(repeats)))
        return
    for what, seconds in profile(repeats).items():
        spread = f"{min(seconds):.2f} to {max(seconds):.2f}"
        console.print(f"{statistics.median(seconds):6.2f} s  ({spread})  {what}")


if __name__ == "__main__":
    typer.run(main)
