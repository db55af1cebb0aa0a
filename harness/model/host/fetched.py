"""What is fetched at its first use, by Maven or pip: required commands, the cache, and how it gets there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.model.errors import PrerequisiteMissing

CACHE_VARIABLE = "KAFKA_CHAOS_JARS"
"""Environment variable for another folder than `~/.cache/kafka-chaos/jars`."""
_PYTHON_CLIENT = "confluent-kafka"
_ABSENT = ("Could not find artifact", "was not found in")
_JAR = re.compile(r"[\w.-]+:([\w.-]+):jar:([\w.-]+)")


class NotInRepository(PrerequisiteMissing):
    """Maven's repository lacks jars of a version."""


def jar_cache() -> Path:
    """The folder of fetched jars, with a subfolder per jar set."""
    named = os.environ.get(CACHE_VARIABLE)
    return Path(named) if named else cache_folder("jars")


def cache_folder(kind: str) -> Path:
    """The folder in which what is fetched of this kind is kept."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "kafka-chaos" / kind


@contextmanager
def fetching(target: Path) -> Iterator[Path]:
    """A path to fetch a file or folder to. It is moved to `target` when all of it is there, so that no other
    process finds a part of it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".fetching-", dir=target.parent) as scratch:
        fetched = Path(scratch) / target.name
        yield fetched
        # Another process may have fetched the same folder meanwhile.
        if not target.is_dir():
            fetched.replace(target)


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


def unresolved(purpose: str, pom: Path, error: str | None) -> PrerequisiteMissing:
    """The error for jars of a version, such as "Kafka 4.4.0", that Maven did not resolve; `error` is Maven's.

    If its repository lacks some of them, they are named. None is taken from another version instead: what
    runs would then be neither.
    """
    if error is not None and any(words in error for words in _ABSENT):
        absent = ", ".join(sorted({" ".join(jar) for jar in _JAR.findall(error)}))
        return NotInRepository(
            f"Maven's repository does not have all of {purpose}",
            where=str(pom),
            expected="every jar of one version; none is taken from another one",
            found=f"missing: {absent}",
            next_step="use a released version of which all are there",
        )
    return PrerequisiteMissing(
        f"Maven could not resolve {purpose}",
        where=str(pom),
        found=error or "none of them among its files",
        next_step="use a released version, or check that Maven reaches its repository",
    )


def first_error(text: str) -> str:
    """Maven's first error line; the lines after it are advice on how to call Maven."""
    errors = [line.partition("[ERROR]")[2].strip() for line in text.splitlines() if "[ERROR]" in line]
    return errors[0] if errors else last_lines(text)


def last_lines(text: str, count: int = 8) -> str:
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    return "\n            ".join(lines[-count:]) or "nothing was printed"


def confluent_kafka(version: str) -> Path:
    """The folder with confluent-kafka of a version, which a process can load: from the cache beside that of
    jars, else installed there by pip from a wheel (about 10 MB).

    Raises:
        PrerequisiteMissing: pip cannot install it.
    """
    folder = jar_cache().parent / "python" / f"{_PYTHON_CLIENT}-{version}"
    if folder.exists():
        return folder
    with fetching(folder) as target:
        options = ("--quiet", "--no-deps", "--only-binary", ":all:", "--no-warn-conflicts")
        wanted = f"{_PYTHON_CLIENT}=={version}"
        command = [sys.executable, "-m", "pip", "install", *options, "--target", str(target), wanted]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        if run.returncode != 0:
            raise PrerequisiteMissing(
                f"{_PYTHON_CLIENT} {version} is not available",
                where="the version of a reader",
                expected="a version that pip can install for this Python from a wheel",
                found=last_lines(run.stderr or run.stdout),
                next_step="use a released version, or check that pip reaches its package index",
            )
    return folder
