"""The Java that Spark uses."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.model.errors import PrerequisiteMissing

OLDEST_JAVA = 17
"""Spark 4 runs on Java 17 and later (Spark documentation, Overview)."""

_INSTALL_JAVA = (
    "install a Java 17 or later runtime (Debian: openjdk-17-jre-headless), or set JAVA_HOME to one"
)


@dataclass(frozen=True, slots=True)
class Java:
    """An installed Java: its feature release (17, 21, ...) and the first line that `java -version` prints."""

    release: int
    banner: str


def feature_release(output: str) -> int | None:
    """The feature release in what `java -version` prints ("17.0.15" is 17, "1.8.0_392" is 8); None: it
    names no version."""
    match = re.search(r'version "(?:1\.)?(\d+)', output)
    return int(match.group(1)) if match else None


def java_of_spark(environment: Mapping[str, str]) -> Java:
    """The Java that Spark would use: the one of JAVA_HOME, else the one on PATH.

    Raises:
        PrerequisiteMissing: there is none, it does not run, or it is older than Java 17.
    """
    home = environment.get("JAVA_HOME")
    program = shutil.which("java", path=str(Path(home) / "bin") if home else environment.get("PATH", ""))
    where = f"JAVA_HOME={home}" if home else "PATH"
    if program is None:
        raise PrerequisiteMissing(
            "Java was not found; the checks run on Spark, which needs it",
            where=where,
            expected=f"Java {OLDEST_JAVA} or later",
            found="no java command",
            next_step=_INSTALL_JAVA,
        )
    try:
        run = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=60, check=False)
        output = run.stderr + run.stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        output = str(error)
    release = feature_release(output)
    banner = (output.strip().splitlines() or ["no answer"])[0]
    if release is None or release < OLDEST_JAVA:
        raise PrerequisiteMissing(
            "the Java found here cannot run Spark",
            where=f"{program} (from {where})",
            expected=f"Java {OLDEST_JAVA} or later",
            found=banner if release is None else f"Java {release}",
            next_step=_INSTALL_JAVA,
        )
    return Java(release, banner)
