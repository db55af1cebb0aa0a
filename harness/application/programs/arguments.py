"""Arguments that all Java programs here take."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from harness.application.kafka_jars import DEFAULT_VERSION


def java_parser(description: str | None, group: str) -> argparse.ArgumentParser:
    """A parser with both topics and their brokers, the state folder and the version of Kafka's libraries."""
    made = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("--bootstrap", required=True)
    made.add_argument("--output-bootstrap", help="brokers of the output, if they are others")
    made.add_argument("--input", required=True)
    made.add_argument("--output", required=True)
    made.add_argument("--state", required=True, type=Path)
    made.add_argument("--group", default=group)
    made.add_argument("--version", default=DEFAULT_VERSION, help="version of Kafka's libraries")
    made.add_argument("--setting", action="append", default=[], metavar="NAME=VALUE")
    return made


def assignments(texts: Sequence[str]) -> dict[str, str]:
    """`["a=b"]` as `{"a": "b"}`."""
    return {name: value for name, _, value in (one.partition("=") for one in texts)}
