"""The command line of built-in applications: how it is made, and how their programs read it."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from harness.model.frozen import Frozen
from harness.spec.application import PLACEHOLDERS
from harness.subjects.built_in import BuiltIn, built_in_names, find


def command_line(name: str, placeholders: Mapping[str, object], options: Frozen) -> tuple[str, ...]:
    """The command line of one instance; `placeholders` has a value for each name in `PLACEHOLDERS`."""
    told = [text for one in PLACEHOLDERS for text in (_flag(one), str(placeholders[one]))]
    return (sys.executable, "-m", "harness.subjects", name, *told, "--options", options.model_dump_json())


def parsed(arguments: Sequence[str]) -> tuple[BuiltIn, argparse.Namespace]:
    """The application that the command line names, and the arguments of its program as attributes:
    placeholders, options, and the `variant` of the program.

    Raises:
        BadInput: wrong options.
        SystemExit: wrong arguments.
    """
    told = vars(_parser().parse_args(arguments))
    built_in = find(told.pop("name"))
    options = built_in.parsed(told.pop("options"))
    return built_in, argparse.Namespace(**told, **dict(options), variant=built_in.variant)


def _parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser("python -m harness.subjects", description="Runs a built-in application.")
    made.add_argument("name", choices=built_in_names(), metavar="NAME", help=", ".join(built_in_names()))
    made.add_argument("--bootstrap", required=True, help="host:port of the brokers")
    made.add_argument("--output-bootstrap", help="brokers of the output, if they are others")
    made.add_argument("--input", required=True, help="topic")
    made.add_argument("--output", required=True, help="topic, or folder of a table")
    made.add_argument("--state", required=True, type=Path, help="folder that survives restarts")
    made.add_argument("--group", default="subject", help="consumer group")
    made.add_argument("--instance", default="0", help="number of the instance")
    made.add_argument("--options", default={}, type=json.loads, help="as JSON: docs/how-to/applications.md")
    return made


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"
