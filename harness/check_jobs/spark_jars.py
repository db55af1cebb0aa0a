"""Jars that Spark's distribution does not contain: its Kafka source, and Hadoop's file system for S3.

Most users need neither, so Maven fetches them at their first use (or by `make spark-jars`) into a cache of
this user. Only files that are identical to the tested ones, by the SHA-256 in `compose/spark`, are used.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import compose
from harness.model.errors import KafkaChaosError, PrerequisiteMissing
from harness.model.host.fetched import copy_dependencies, fetching, jar_cache, require_commands
from harness.model.progress import progress_on_stdout, report_progress
from harness.model.storage import S3_SCHEMES, StoragePath, UrlPath


@dataclass(frozen=True)
class JarSet:
    """A folder of `compose/spark`: `pom.xml` for Maven, and `SHA256SUMS` with the expected files."""

    name: str
    purpose: str

    @property
    def folder(self) -> Path:
        return compose.FOLDER / "spark" / self.name

    def sums(self) -> dict[str, str]:
        """File name -> SHA-256 in hexadecimal."""
        lines = (self.folder / "SHA256SUMS").read_text().splitlines()
        return {name: digest for digest, name in (line.split() for line in lines)}


KAFKA = JarSet("kafka", "reading topics with Spark (--read-with spark)")
S3 = JarSet("s3", "journals on S3 (s3a://...)")
ALL = (KAFKA, S3)


def is_on_s3(where: StoragePath | None) -> bool:
    """Whether Apache Spark needs the jars of S3 to read or write there."""
    return isinstance(where, UrlPath) and where.url.partition("://")[0].lower() in S3_SCHEMES


def jars_of(jar_set: JarSet) -> tuple[Path, ...]:
    """The paths of the set's jars on this machine. Fetches missing ones (10 to 20 MB).

    Raises:
        PrerequisiteMissing: Maven is missing, it cannot resolve them, or they have other checksums.
    """
    sums = jar_set.sums()
    # The checksums are part of the name, so that another version of kafka-chaos finds its own files.
    key = hashlib.sha256((jar_set.folder / "SHA256SUMS").read_bytes()).hexdigest()[:12]
    folder = jar_cache() / f"{jar_set.name}-{key}"
    if not wrong_files(folder, sums):
        return tuple(folder / name for name in sums)
    require_commands({"mvn": "maven"}, jar_set.purpose)
    report_progress(f"fetching {len(sums)} jars for {jar_set.purpose} (Maven)")
    with fetching(folder) as fetched:
        _fetch(jar_set, fetched)
        if bad := wrong_files(fetched, sums):
            raise PrerequisiteMissing(
                f"the jars for {jar_set.purpose} are not those that were tested",
                where=str(jar_set.folder / "SHA256SUMS"),
                expected="files with these checksums",
                found=f"missing or different: {', '.join(bad)}",
                next_step="delete them from Maven's local repository, and check where Maven fetches from",
            )
        if folder.exists():
            shutil.rmtree(folder)
    return tuple(folder / name for name in sums)


def wrong_files(folder: Path, sums: dict[str, str]) -> list[str]:
    """Names of the files that are missing or have another checksum."""
    bad = []
    for name, digest in sums.items():
        try:
            found = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        except OSError:
            found = ""
        bad += [] if found == digest else [name]
    return bad


def _fetch(jar_set: JarSet, target: Path) -> None:
    pom = jar_set.folder / "pom.xml"
    error = copy_dependencies(pom, target)
    if error is not None:
        raise PrerequisiteMissing(
            f"Maven could not resolve the jars for {jar_set.purpose}",
            where=str(pom),
            found=error,
            next_step="check that Maven reaches its repository, then run this again",
        )


if __name__ == "__main__":
    try:
        with progress_on_stdout():
            for jar_set in ALL:
                paths = jars_of(jar_set)
                print(f"{jar_set.name}: {len(paths)} jars in {paths[0].parent}")
    except KafkaChaosError as error:
        print(error, file=sys.stderr)
        sys.exit(error.exit_code)
