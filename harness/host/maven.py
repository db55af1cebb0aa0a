"""Required commands, Maven, and the folder of fetched jars."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from harness.model.errors import PrerequisiteMissing


def require_commands(packages: dict[str, str], purpose: str) -> None:
    """Check that each command (key) is on PATH; `packages` has the Debian package of each (value).

    Raises:
        PrerequisiteMissing: commands are missing; its next step names their packages (compose/setup.sh
            reads them there).
    """
    missing = {command: package for command, package in packages.items() if shutil.which(command) is None}
    if missing:
        raise PrerequisiteMissing(
            f"{purpose} needs {' and '.join(sorted(missing))}",
            found=f"no {' and no '.join(sorted(missing))} on PATH",
            next_step=f"install {' '.join(sorted(missing.values()))} (Debian's package names), "
            "or make an image registry reachable",
        )


def run_maven(*arguments: str) -> str | None:
    """Run Maven without a console; returns its first error, or None if it succeeded."""
    command = ["mvn", "-B", "-q", "-Dstyle.color=never", *arguments]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    return None if run.returncode == 0 else first_error(run.stdout + run.stderr)


def copy_dependencies(pom: Path, target: Path, *options: str) -> str | None:
    """Copy the runtime dependencies of a pom into `target`; returns as `run_maven`."""
    goal = ("dependency:copy-dependencies", f"-DoutputDirectory={target}", "-DincludeScope=runtime")
    return run_maven("-f", str(pom), *options, *goal)


def first_error(text: str) -> str:
    """Maven's first error line; the lines after it are advice on how to call Maven."""
    errors = [line.partition("[ERROR]")[2].strip() for line in text.splitlines() if "[ERROR]" in line]
    return errors[0] if errors else last_lines(text)


def last_lines(text: str, count: int = 8) -> str:
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    return "\n            ".join(lines[-count:]) or "nothing was printed"


CACHE_VARIABLE = "KAFKA_CHAOS_JARS"
"""Environment variable for another folder than `~/.cache/kafka-chaos/jars`."""


def jar_cache() -> Path:
    """The folder of fetched jars, with a subfolder per jar set."""
    named = os.environ.get(CACHE_VARIABLE)
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(named) if named else base / "kafka-chaos" / "jars"
