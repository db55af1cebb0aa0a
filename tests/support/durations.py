"""How long tests take, by what was measured: `tests/durations.json`, which pytest-split reads too.

`python -m tests.support.durations` says what `make test-all` would take. With the output of
`pytest --durations=0` as files, it puts their seconds into the JSON.
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from tests.support.paths import ROOT

FILE = ROOT / "tests" / "durations.json"
LEAST_SECONDS = 1.0
"""Shorter tests are left out."""
_LINE = re.compile(r"^([\d.]+)s (?:call|setup|teardown) +(\S.*)$", re.MULTILINE)


def measured(path: Path = FILE) -> dict[str, float]:
    """Seconds by the id of a test."""
    seconds: dict[str, float] = json.loads(path.read_text())
    return seconds


def by_file(seconds: Mapping[str, float]) -> dict[str, float]:
    """Seconds by file."""
    found: dict[str, float] = defaultdict(float)
    for test, one in seconds.items():
        found[test.partition("::")[0]] += one
    return dict(found)


def read(report: str) -> dict[str, float]:
    """Seconds of each test in the output of `pytest --durations=0`."""
    found: dict[str, float] = defaultdict(float)
    for seconds, test in _LINE.findall(report):
        found[test] += float(seconds)
    return {test: round(one, 1) for test, one in found.items() if one >= LEAST_SECONDS}


def estimate(seconds: Mapping[str, float]) -> str:
    """What all these tests take one after the other."""
    minutes = sum(seconds.values()) / 60
    return f"{len(seconds)} tests take longer than a second, {minutes:.0f} min one after the other"


def main(*reports: str) -> None:
    if not reports:
        print(f"make test-all: {estimate(measured())}, and half of it where two run side by side.")
        return
    known = measured()
    for report in reports:
        known |= read(Path(report).read_text())
    FILE.write_text(json.dumps(known, indent=2, sort_keys=True) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
