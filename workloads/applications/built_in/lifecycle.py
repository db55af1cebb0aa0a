"""How built-in applications are called, what they print when they are ready, and how they are stopped."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from harness.model.frozen import Frozen
from workloads.applications.application_spec import PLACEHOLDERS
from workloads.applications.built_in.built_in import BUILT_IN, BuiltIn, find

READY = "kafka-chaos application: ready"
"""The line that an application prints once it reads; its `ready` condition waits for it."""
JARS_VARIABLE = "APPLICATION_JARS"
"""Names the jars of an application that has some, as a class path."""


def command_line(name: str, placeholders: Mapping[str, str], options: Frozen) -> tuple[str, ...]:
    """The command line of one instance; `placeholders` has a value for each name in `PLACEHOLDERS`."""
    options_given = [
        text
        for placeholder in PLACEHOLDERS
        for text in (f"--{placeholder.replace('_', '-')}", placeholders[placeholder])
    ]
    return (
        sys.executable,
        "-m",
        "workloads.applications.built_in",
        name,
        *options_given,
        "--options",
        options.model_dump_json(),
    )


def parsed(arguments: Sequence[str]) -> tuple[BuiltIn, argparse.Namespace]:
    """The application that the command line names, and the arguments of its program as attributes:
    placeholders, options, and the `variant` of the program.

    Raises:
        BadInput: wrong options.
        SystemExit: wrong arguments.
    """
    given = vars(_parser().parse_args(arguments))
    built_in = find(given.pop("name"))
    options = built_in.parsed(given.pop("options"))
    return built_in, argparse.Namespace(**given, **dict(options), variant=built_in.variant)


def _parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        "python -m workloads.applications.built_in", description="Runs a built-in application."
    )
    names = BUILT_IN.builtin_names()
    made.add_argument("name", choices=names, metavar="NAME", help=", ".join(names))
    made.add_argument("--bootstrap", required=True, help="host:port of the brokers")
    made.add_argument("--output-bootstrap", help="brokers of the output, if they are others")
    made.add_argument("--input", required=True, help="topic")
    made.add_argument("--output", required=True, help="topic, or folder of a table")
    made.add_argument("--state", required=True, type=Path, help="folder that survives restarts")
    made.add_argument("--group", default="subject", help="consumer group")
    made.add_argument("--instance", default="0", help="number of the instance")
    made.add_argument("--options", default={}, type=json.loads, help="as JSON: docs/how-to/applications.md")
    return made


def given_jars() -> tuple[Path, ...]:
    """The jars that this application was given; none if it was started by hand."""
    return tuple(Path(jar) for jar in os.environ.get(JARS_VARIABLE, "").split(os.pathsep) if jar)


def ready() -> None:
    print(READY, flush=True)


def say(text: str) -> None:
    print(f"kafka-chaos application: {text}", flush=True)


def stop_event() -> threading.Event:
    """Is set by SIGTERM and by SIGINT."""
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    return stopping
