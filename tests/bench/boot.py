"""How long a cluster of three brokers and a controller takes to start.

python -m tests.bench.boot [repeats]
"""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from harness.cluster.managed import ManagedCluster
from tests.bench.rows import Row, table


def rows(repeats: int = 7) -> list[Row]:
    """Seconds until every broker is registered and a new topic has a full ISR."""
    seconds = []
    for _ in range(repeats):
        with ManagedCluster() as cluster:
            seconds.append(cluster.start_seconds)
    return [Row.of("boot of 3 brokers and a controller", "s", seconds, goal=4.0)]


def main(repeats: Annotated[int, typer.Argument(help="Clusters to start.")] = 7) -> None:
    """Measure how long a cluster takes to start."""
    Console(width=160).print(table(rows(repeats)))


if __name__ == "__main__":
    typer.run(main)
