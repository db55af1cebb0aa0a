"""Installs the program of a client library with a pinned version, in a folder of its own that is kept."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from pathlib import Path

from pydantic import ValidationError

from harness.cluster.containers.images import refusal_of
from harness.lab.clients.client import CLIENT, ClientSpec, filled_in
from harness.lab.clients.install_container import Carry, in_container
from harness.model.config.built_in_files import built_in_files
from harness.model.errors import BadInput, PrerequisiteMissing
from harness.model.host.fetched import cache_folder, fetching, last_lines
from harness.model.progress import report_progress
from workloads.own.language_files import LANGUAGES, language_file

_JOURNAL_FOLDERS = {"go": "kafkachaos", "rust": "src"}
"""Where the file for journals goes, if its language wants it below the program's folder."""
_HANDLERS = {"go": "consumer/handler.go", "javascript": "handler.mjs", "python": "handler.py"}
"""The file that programs that consume share with others of their language, and where it goes."""
_SECONDS = 3600
TOOLCHAINS = {
    "go": "golang-go",
    "node": "nodejs",
    "npm": "npm",
    "cargo": "cargo",
    "cc": "gcc",
    "g++": "g++",
    "make": "make",
    "mvn": "maven",
    "java": "default-jre-headless",
    "javac": "default-jdk-headless",
}
"""The Debian package of each command that installs or builds a client."""


@dataclass(frozen=True, slots=True)
class NamedClient:
    """A client library in a version; `files` is the folder with its program, which need not exist."""

    name: str
    spec: ClientSpec
    version: str
    files: Traversable

    @property
    def label(self) -> str:
        """Its name; with the version, if that is not the one that its file names."""
        return self.name if self.version == self.spec.version else f"{self.name}-{self.version}"


@dataclass(frozen=True, slots=True)
class InstalledClient:
    """A client library whose program stands ready in `folder`, for a container of `image` if there is one."""

    named: NamedClient
    folder: Path
    image: str | None = None

    @property
    def command(self) -> tuple[str, ...]:
        """What starts the program."""
        return self.filled(self.named.spec.command)

    def filled(self, command: tuple[str, ...]) -> tuple[str, ...]:
        """A command of the client with its placeholders filled in."""
        return filled_in(command, values_for(self.folder, self.named.version))

    @property
    def env(self) -> dict[str, str]:
        """Environment variables of the program, beside those of the run."""
        return {name: self.filled((text,))[0] for name, text in self.named.spec.env.items()}


def named_client(text: str) -> NamedClient:
    """The client that `NAME` or `NAME@VERSION` stands for: a built-in one, or `PATH.yaml` with its program in
    the folder PATH beside it.

    Raises:
        BadInput: there is no such client, or the version cannot be one.
    """
    name, _, version = text.partition("@")
    spec, _ = CLIENT.load(name)
    built_in = name in CLIENT.builtin_names()
    files = built_in_files(f"harness/lab/clients/{name}") if built_in else Path(name).with_suffix("")
    if "@" in text:
        try:
            ClientSpec.model_validate({**spec.model_dump(), "version": version})
        except ValidationError as error:
            raise BadInput(
                "this is no version of a client",
                where=f"--client {text}",
                expected=f"NAME@VERSION, such as {name}@{spec.version}",
                found=repr(version),
                next_step="name a version as its registry does, or leave it out",
            ) from error
    return NamedClient(Path(name).stem, spec, version or spec.version, files)


def missing_tools(spec: ClientSpec) -> tuple[str, ...]:
    """The commands that the client needs and this machine does not have."""
    return tuple(name for name in spec.needs if shutil.which(name) is None)


def require_tools(spec: ClientSpec, name: str, image: str | None = None) -> str | None:
    """Refuse a client whose tools this machine does not have, unless containers of `image` can have them;
    returns that image then, else None.

    Raises:
        PrerequisiteMissing: one is missing, and so is the image.
    """
    missing = missing_tools(spec)
    refusal = refusal_of(image) if missing and image is not None else None
    if missing and (image is None or refusal is not None):
        packages = " ".join(TOOLCHAINS.get(one, one) for one in missing)
        raise PrerequisiteMissing(
            f"the client {name} needs {' and '.join(missing)}",
            found=f"no {' and no '.join(missing)} on PATH"
            + (f", no image {image}: {refusal}" if image is not None else ""),
            next_step=f"install {packages} (Debian's package names), or leave the client out",
        )
    return image if missing else None


def install(named: NamedClient) -> InstalledClient:
    """Install a client's program, unless it was installed before from the same files; in a container, if a
    command that it needs is missing and it has an image.

    Raises:
        PrerequisiteMissing: a command that it needs is missing, or a command of `install` failed: the
            package cannot be had, or has no such version.
    """
    what, spec = f"{named.name} {named.version}", named.spec
    image = require_tools(spec, named.name, spec.image)
    files = dict(_files(named))
    folder = cache_folder("clients") / f"{named.name}-{named.version}-{_fingerprint(spec, files, image)}"
    if not folder.is_dir():
        report_progress(f"installing {what}" + (f" in a container of {image}" if image is not None else ""))
        with fetching(folder) as fetched:
            fetched.mkdir()
            for path, content in files.items():
                (fetched / path).parent.mkdir(parents=True, exist_ok=True)
                (fetched / path).write_bytes(content)
            commands = [filled_in(command, values_for(fetched, named.version)) for command in spec.install]
            with _here(fetched) if image is None else in_container(image, fetched, what, _SECONDS) as carry:
                for command in commands:
                    _refuse_failure(carry(command), command, what)
    return InstalledClient(named, folder, image)


def values_for(folder: Path, version: str) -> Mapping[str, str]:
    """What placeholders in commands stand for."""
    return {"folder": str(folder), "python": sys.executable, "version": version}


def _files(named: NamedClient) -> Iterator[tuple[str, bytes]]:
    """The files of a program by their path in its folder, with those that all of its language have: the file
    for journals, and the handler of records."""
    language = named.spec.language
    if named.files.is_dir():
        yield from _below(named.files, "")
    if language in LANGUAGES:
        file = "/".join(filter(None, (_JOURNAL_FOLDERS.get(language), LANGUAGES[language])))
        yield file, language_file(language).encode()
    if named.spec.consumer is not None and (handler := _HANDLERS.get(language)) is not None:
        shared = built_in_files("harness/lab/clients/handling") / handler.rpartition("/")[2]
        yield handler, shared.read_bytes()


def _below(folder: Traversable, prefix: str) -> Iterator[tuple[str, bytes]]:
    for entry in sorted(folder.iterdir(), key=lambda one: one.name):
        if entry.is_dir() and entry.name != "__pycache__":
            yield from _below(entry, f"{prefix}{entry.name}/")
        elif entry.is_file():
            yield prefix + entry.name, entry.read_bytes()


def _fingerprint(spec: ClientSpec, files: Mapping[str, bytes], image: str | None) -> str:
    """Changes with the program and with how and where it is installed."""
    where = sys.version_info[:2] if image is None else image
    digest = hashlib.sha256(repr((spec.install, where)).encode())
    for path, content in files.items():
        digest.update(f"{path}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:12]


@contextmanager
def _here(folder: Path) -> Iterator[Carry]:
    """Commands are carried out on this machine, in `folder`."""

    def carry(command: Sequence[str]) -> str | None:
        try:
            done = subprocess.run(
                command, cwd=folder, capture_output=True, text=True, check=False, timeout=_SECONDS
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
        return last_lines(done.stdout + done.stderr) if done.returncode else None

    yield carry


def _refuse_failure(found: str | None, command: Sequence[str], what: str) -> None:
    """Refuse a client of whose installation a command failed.

    Raises:
        PrerequisiteMissing: it failed, or took longer than an hour.
    """
    if found is not None:
        raise PrerequisiteMissing(
            f"{what} cannot be installed",
            where=" ".join(command),
            expected="a version that the registry has, and a registry that can be reached",
            found=found,
            next_step="check the version, or leave the client out",
        )
