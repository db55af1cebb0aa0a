"""Jars of built-in applications, from Maven, as the poms in `compose/applications` name them."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

import compose
from harness.host.maven import copy_dependencies, jar_cache, require_commands
from harness.model.errors import PrerequisiteMissing
from harness.model.progress import report_progress


def jars_of_pom(name: str, title: str, versions: Mapping[str, str]) -> tuple[Path, ...]:
    """The jars of `compose/applications/NAME/pom.xml` with these properties, fetched at their first use.

    Raises:
        PrerequisiteMissing: Maven is missing, or cannot resolve these versions.
    """
    folder = jar_cache() / "-".join((name, *versions.values()))
    if not folder.is_dir():
        purpose = " ".join((title, *versions.values()))
        require_commands({"mvn": "maven"}, purpose)
        report_progress(f"fetching the jars of {purpose} (Maven)")
        folder.parent.mkdir(parents=True, exist_ok=True)
        pom = compose.FOLDER / "applications" / name / "pom.xml"
        with tempfile.TemporaryDirectory(prefix=".fetching-", dir=folder.parent) as scratch:
            fetched = Path(scratch) / name
            properties = (f"-D{key}={value}" for key, value in versions.items())
            error = copy_dependencies(pom, fetched, *properties)
            if error is not None:
                raise PrerequisiteMissing(
                    f"Maven could not resolve the jars of {purpose}",
                    where=str(pom),
                    found=error,
                    next_step="use a released version, or check that Maven reaches its repository",
                )
            if not folder.is_dir():
                fetched.replace(folder)
    return tuple(sorted(folder.glob("*.jar")))
