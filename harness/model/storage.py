"""The path of a run folder: a local path, or a URL of an object store or another file system.

Local folders stay `pathlib.Path`; `UrlPath` offers the part of its interface that run folders need, over
`pyarrow.fs`. Both know `/`, `name`, `parent`, `glob`, `is_dir`, `exists`, `read_text`, `resolve` and `str`;
what differs between them (writing whole files, opening Parquet) is a function here.

S3 is configured by the usual environment variables: `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`,
`AWS_SESSION_TOKEN`, `AWS_REGION`, and `AWS_ENDPOINT_URL` for stores that are not Amazon's; without keys the
machine's profiles or instance roles are used. Other schemes (`gs`, `abfs`, `hdfs`) are opened by
`pyarrow.fs.FileSystem.from_uri`, or through the fsspec package of that scheme where it is installed.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from harness.model.errors import JournalError, first_line

S3_SCHEMES = ("s3", "s3a", "s3n")
"""Names of Hadoop and Amazon for the same store; Spark reads `s3a`."""

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_S3_SECONDS = {"connect_timeout": 30, "request_timeout": 30}
_PAUSES = (0.0, 0.1, 0.2, 0.4)
"""Seconds after which intermediate files are removed, and again if tasks may still write some."""


@dataclass(frozen=True)
class UrlPath:
    """A file or folder at a URL. Operations raise OSError, as those of `pathlib.Path` do."""

    url: str

    @property
    def name(self) -> str:
        return self.url.rpartition("/")[2]

    @property
    def parent(self) -> UrlPath:
        return UrlPath(self.url.rpartition("/")[0])

    def __truediv__(self, name: str) -> UrlPath:
        return UrlPath(f"{self.url}/{name}")

    def __str__(self) -> str:
        return self.url

    def __lt__(self, other: UrlPath) -> bool:
        return self.url < other.url

    def resolve(self) -> UrlPath:
        """Itself: URLs are never relative."""
        return self

    def exists(self) -> bool:
        return self._kind() is not fs.FileType.NotFound

    def is_dir(self) -> bool:
        return self._kind() is fs.FileType.Directory

    def glob(self, pattern: str) -> list[UrlPath]:
        """Paths that match `pattern`, whose parts are shell patterns; empty if the folder is missing."""
        head, _, rest = pattern.partition("/")
        inside = self.filesystem().get_file_info(fs.FileSelector(self.path, allow_not_found=True))
        paths = sorted(self / info.base_name for info in inside if fnmatchcase(info.base_name, head))
        return [deeper for path in paths if path.is_dir() for deeper in path.glob(rest)] if rest else paths

    def read_bytes(self) -> bytes:
        with self.filesystem().open_input_file(self.path) as file:
            return bytes(file.read())

    def read_text(self) -> str:
        return self.read_bytes().decode()

    def write_bytes(self, data: bytes) -> None:
        """Write the file; object stores show all of it or nothing."""
        with self.filesystem().open_output_stream(self.path) as file:
            file.write(data)

    def unlink(self, missing_ok: bool = False) -> None:
        if not missing_ok or self.exists():
            self.filesystem().delete_file(self.path)

    def mkdir(self, parents: bool = True, exist_ok: bool = True) -> None:  # noqa: ARG002 - as Path has them
        """Make the folder and its parents, whatever the arguments; object stores have no folders."""
        self.filesystem().create_dir(self.path, recursive=True)

    def remove(self) -> None:
        """Remove the folder and its content."""
        self.filesystem().delete_dir(self.path)

    def _kind(self) -> Any:
        return self.filesystem().get_file_info(self.path).type

    def filesystem(self) -> Any:
        """What opens it, of `pyarrow.fs`."""
        return _system(self.url.split("://")[0].lower(), urlsplit(self.url).netloc)

    @property
    def path(self) -> str:
        """The path as `pyarrow.fs` takes it: with the bucket first for object stores, without the host for
        hdfs."""
        parts = urlsplit(self.url)
        if parts.scheme.lower() in ("hdfs", "viewfs"):
            return parts.path
        if parts.scheme.lower().startswith("abfs"):
            # abfs[s]://container@account.dfs.core.windows.net/path
            return f"{parts.netloc.partition('@')[0]}{parts.path}"
        return f"{parts.netloc}{parts.path}"


StoragePath = Path | UrlPath


def storage_path(text: str | Path) -> StoragePath:
    """Parse a local path or a URL (`s3a://bucket/results/run`); `file:` URLs are local paths.

    Raises:
        JournalError: no installed file system opens this URL.
    """
    if isinstance(text, Path) or not _URL.match(text):
        return Path(text)
    if text.lower().startswith("file://"):
        return Path(unquote(urlsplit(text).path))
    url = UrlPath(text.rstrip("/"))
    try:
        url.filesystem()
    except (OSError, ValueError, pa.ArrowException, ImportError) as error:
        raise JournalError(
            "no installed file system opens this URL",
            where=text,
            expected="s3a://, s3://, gs://, abfs://, hdfs://, or a scheme of an installed fsspec package",
            found=first_line(error),
            next_step="see docs/how-to/scale.md, or copy the run folder to this machine",
        ) from error
    return url


def matching(folder: StoragePath, pattern: str) -> list[StoragePath]:
    """Files and folders in `folder` that match a shell pattern, sorted by name."""
    return sorted(folder.glob(pattern))


def files_below(folder: StoragePath, names: Collection[str]) -> list[StoragePath]:
    """Files of these names in `folder` and in all folders below it, sorted; links to folders are not
    followed.

    Raises:
        OSError: a URL cannot be listed.
    """
    if isinstance(folder, UrlPath):
        infos = folder.filesystem().get_file_info(fs.FileSelector(folder.path, recursive=True))
        inner = [info.path.removeprefix(folder.path).strip("/") for info in infos if info.base_name in names]
        return sorted(folder / path for path in inner)
    return sorted(
        Path(where, name) for where, _, files in os.walk(folder.resolve()) for name in files if name in names
    )


def open_parquet(path: str | Path | UrlPath, **options: Any) -> pq.ParquetFile:
    """Open a Parquet file, local or at a URL; `options` are those of `pyarrow.parquet.ParquetFile`.

    Closing it closes the file. Raises OSError or pyarrow.ArrowException, as that does.
    """
    where = storage_path(path) if isinstance(path, str) else path
    if isinstance(where, Path):
        return pq.ParquetFile(where, **options)
    options.pop("memory_map", None)
    # Coalesced range requests: an object store answers each in tens of milliseconds.
    return pq.ParquetFile(where.path, filesystem=where.filesystem(), pre_buffer=True, **options)


def write_parquet(table: pa.Table, target: str | Path | UrlPath) -> None:
    """Call `pyarrow.parquet.write_table` for a local path or a URL. Raises OSError or
    pyarrow.ArrowException, as that does."""
    where = storage_path(target) if isinstance(target, str) else target
    if isinstance(where, Path):
        pq.write_table(table, where)
    else:
        pq.write_table(table, where.path, filesystem=where.filesystem())


@contextmanager
def scratch_in(folder: StoragePath) -> Iterator[StoragePath]:
    """A new folder in `folder` for intermediate files of Spark tasks, removed with its content at the end.
    Its name begins with a dot: Spark and Arrow skip such names. After an error, tasks that have not ended yet
    may make it again, so it is removed again.

    Raises:
        OSError: it cannot be created.
    """
    scratch = folder / f".check-{secrets.token_hex(6)}"
    scratch.mkdir()
    failed = True
    try:
        yield scratch
        failed = False
    finally:
        if isinstance(scratch, Path):
            for seconds in _PAUSES if failed else _PAUSES[:1]:
                time.sleep(seconds)
                shutil.rmtree(scratch, ignore_errors=True)
        else:
            scratch.remove()


def write_whole(target: StoragePath, text: str, *, private: bool = False) -> None:
    """Write a text as UTF-8, atomically: a reader sees all of it or the previous content, also if it fails.

    Lone surrogates, which messages of clients and brokers may contain, become "?". A local file that is
    `private` can be read by its owner only.

    Raises:
        OSError: it cannot be written.
    """
    data = text.encode("utf-8", "replace")
    if isinstance(target, UrlPath):
        target.write_bytes(data)
        return
    scratch = target.with_suffix(".tmp")
    try:
        scratch.touch(mode=0o600 if private else 0o666)
        scratch.write_bytes(data)
        scratch.replace(target)
    except OSError:
        with suppress(OSError):
            scratch.unlink(missing_ok=True)
        raise


def spark_path(where: StoragePath) -> str:
    """A path as Spark names it: Hadoop's scheme for Amazon's store is `s3a`."""
    text = str(where)
    scheme, found, rest = text.partition("://")
    return f"s3a://{rest}" if found and scheme.lower() in S3_SCHEMES else text


def s3_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """The S3 settings of the environment: any of `access_key`, `secret_key`, `session_token`, `region` and
    `endpoint_override` that are set."""
    names = {
        "access_key": ("AWS_ACCESS_KEY_ID",),
        "secret_key": ("AWS_SECRET_ACCESS_KEY",),
        "session_token": ("AWS_SESSION_TOKEN",),
        "region": ("AWS_REGION", "AWS_DEFAULT_REGION"),
        "endpoint_override": ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"),
    }
    values = {
        key: next((environment[name] for name in variables if environment.get(name)), "")
        for key, variables in names.items()
    }
    return {key: value for key, value in values.items() if value}


@lru_cache(maxsize=32)
def _system(scheme: str, authority: str) -> Any:
    if scheme in S3_SCHEMES:
        return fs.S3FileSystem(**s3_settings(os.environ), **_S3_SECONDS)
    try:
        return fs.FileSystem.from_uri(f"{scheme}://{authority}/")[0]
    except pa.ArrowInvalid:
        return fs.FileSystem.from_uri(f"fsspec+{scheme}://{authority}/")[0]
