"""Runs one script several times, each time in a process of its own, and counts what was seen."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import confluent_kafka

SHOWN = "SHOWN: "
"""Begins the line of a trial in which the bug was seen; any other last line says what was seen instead."""


def trials(arms: dict[str, Callable[..., str]], options: Sequence[str] = (), seconds: float = 60.0) -> None:
    """Be the main program of a script: run every arm 5 times, and print what was seen how often.

    An arm returns what it saw in one line, which begins with `SHOWN` if that is the bug. It gets the values
    of these `options` of the command line by name (None if not given). A trial whose process does not end by
    itself within `seconds` is counted apart, since it may be another bug.

    Exit codes: 1 if it was shown in a trial, 0 if in none, 2 for a mistake on the command line.
    """
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__)
    parser.add_argument("--runs", type=int, default=5, help="trials of each arm; default: 5")
    parser.add_argument("--arm", choices=sorted(arms), help="run this arm only")
    parser.add_argument("--here", action="store_true", help="one trial, in this process, to be debugged")
    for name in options:
        parser.add_argument(f"--{name}")
    given = parser.parse_args()
    values = {name: getattr(given, name.replace("-", "_")) for name in options}
    if given.here:
        print(
            arms[given.arm](**{name.replace("-", "_"): value for name, value in values.items()}), flush=True
        )
        # Not by closing clients, which is not what the script is about.
        os._exit(0)
    print(f"confluent-kafka {confluent_kafka.__version__}, librdkafka {confluent_kafka.libversion()[0]}")
    passed_on = [text for name, value in values.items() if value for text in (f"--{name}", value)]
    shown = 0
    for arm in [given.arm] if given.arm else arms:
        seen = Counter(_trial(arm, passed_on, seconds) for _ in range(given.runs))
        shown += sum(count for what, count in seen.items() if what.startswith(SHOWN))
        for what, count in seen.most_common():
            print(f"{arm}: {count} of {given.runs}: {what}")
    sys.exit(1 if shown else 0)


def _trial(arm: str, options: list[str], seconds: float) -> str:
    script = Path(sys.argv[0])
    command = [sys.executable, str(script), "--here", "--arm", arm, *options]
    try:
        ended = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return f"the process did not end within {seconds:g} s"
    if ended.returncode < 0:
        return f"the process ended with {signal.Signals(-ended.returncode).name}"
    lines = ended.stdout.strip().splitlines()
    return lines[-1] if lines else f"no result: {ended.stderr.strip()[-300:]}"
