"""The diffs that CONTRIBUTING.md links: applied to a copy of the tree."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from tests.support.paths import ROOT

DIFFS = ROOT / "tests" / "support" / "diffs"
PACKAGES = ("harness", "faults", "workloads", "checkers", "compose", "tests/support")
FILES = tuple(
    name
    for name in (
        *("pyproject.toml", "tests/__init__.py", "tests/conftest.py", "tests/durations.json"),
        *("tests/spark/__init__.py", "tests/spark/conftest.py", "tests/spark/checkers/__init__.py"),
    )
    if (ROOT / name).exists()
)
_IGNORED = shutil.ignore_patterns("__pycache__", "*.pyc")


def changed_files(diff: Path) -> list[str]:
    """The files that a diff changes or adds."""
    return re.findall(r"^\+\+\+ b/(\S+)$", diff.read_text(), re.MULTILINE)


def source_files(diff: Path) -> list[str]:
    """Those of them that are neither documentation nor tests."""
    return [name for name in changed_files(diff) if not name.startswith(("docs/", "tests/", "CHANGELOG"))]


def patched_tree(diff: Path, folder: Path) -> Path:
    """A copy of the packages in `folder`, with the diff applied by `git apply`."""
    for name in PACKAGES:
        shutil.copytree(ROOT / name, folder / name, ignore=_IGNORED)
    for name in FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    # Within a repository, `git apply` would resolve paths from its root.
    alone = {**os.environ, "GIT_CEILING_DIRECTORIES": str(folder.parent)}
    subprocess.run(["git", "apply", "--whitespace=error", diff], cwd=folder, env=alone, check=True)
    return folder
