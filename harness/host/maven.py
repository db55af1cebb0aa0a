"""Maven: its commands, its errors, and the cache of jars it fetches."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from harness.model.errors import PrerequisiteMissing
from harness.model.progress import report_progress


def require_commands(packages: dict[str, str], purpose: str) -> None:
    """See that each command (key) is there; where we are root on Debian, install its package (value).

    Raises:
        PrerequisiteMissing: a command is missing and cannot be installed here.
    """
    missing = {command: package for command, package in packages.items() if shutil.which(command) is None}
    if not missing:
        return
    names = " ".join(sorted(missing.values()))
    if os.geteuid() == 0 and Path("/etc/debian_version").exists() and shutil.which("apt-get"):
        report_progress(f"installing {names}")
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        install = f"apt-get install -y -qq --no-install-recommends {names}"
        # The lists may be fresh already; a mirror of something else that fails to update does not matter.
        script = f"{install} || {{ apt-get update -qq; {install}; }}"
        run = subprocess.run(
            ["sh", "-c", script], env=environment, capture_output=True, text=True, check=False
        )
        if run.returncode == 0:
            return
        found = last_lines(run.stderr)
    else:
        found = f"no {' and no '.join(sorted(missing))} on PATH"
    raise PrerequisiteMissing(
        f"{purpose} needs {' and '.join(sorted(missing))}",
        found=found,
        next_step=f"install {names} (Debian's package names), or make an image registry reachable",
    )


def first_error(text: str) -> str:
    """Maven's first error line: what follows it is advice on how to call Maven."""
    errors = [line.partition("[ERROR]")[2].strip() for line in text.splitlines() if "[ERROR]" in line]
    return errors[0] if errors else last_lines(text)


def last_lines(text: str, count: int = 8) -> str:
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    return "\n            ".join(lines[-count:]) or "nothing was printed"


CACHE_VARIABLE = "KAFKA_CHAOS_JARS"


def cache() -> Path:
    """The folder that the sets' folders lie in."""
    named = os.environ.get(CACHE_VARIABLE)
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(named) if named else base / "kafka-chaos" / "jars"
