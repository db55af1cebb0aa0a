"""Reads YAML files that people write, and explains exactly what is wrong with an invalid one."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Generic, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from harness.config.safe_yaml import NotYaml, compose_yaml, construct_yaml, explained
from harness.config.yaml_problems import FileText, as_bad_input
from harness.model.errors import BadInput, did_you_mean
from harness.model.secrets import MASK, masked_at, remember_secrets

FileModel = TypeVar("FileModel", bound=BaseModel)
SUFFIXES = (".yaml", ".yml", ".json")
"""JSON is YAML too: the experiment.json in a results folder runs again."""


@cache
def _schema_of(model: type[BaseModel]) -> dict[str, Any]:
    """Made once: it takes longer than to read a file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **model.model_json_schema(by_alias=True),
    }


@dataclass(frozen=True, slots=True)
class FileKind(Generic[FileModel]):
    """A kind of file, which holds a `model`.

    For messages: `one` is its name with an article, `expected` its shape, `example` says where to find an
    example, `schema` is the command that prints its schema. `folder`, below harness/, has the built-in files.
    `complete` inserts what a file refers to by name, before the file is validated; it gets the file's nodes
    and its name for messages, and may raise BadInput or NotYaml.
    """

    model: type[FileModel]
    one: str
    expected: str
    example: str
    schema: str
    folder: str
    complete: Callable[[yaml.Node | None, str], yaml.Node | None] = lambda root, _: root

    @property
    def word(self) -> str:
        """`one` without its article."""
        return self.one.split()[-1]

    def builtin_names(self) -> tuple[str, ...]:
        """Names of the built-in files."""
        files = (Path(entry.name) for entry in self._folder().iterdir())
        return tuple(sorted(file.stem for file in files if file.suffix == ".yaml"))

    def builtin_text(self, name: str) -> str:
        """The YAML text of a built-in file.

        Raises:
            BadInput: no built-in file has this name.
        """
        if name not in self.builtin_names():
            raise self._unknown(name, or_file="")
        return (self._folder() / f"{name}.yaml").read_text()

    def builtin(self, name: str) -> tuple[FileModel, str]:
        """The content of a built-in file, and its name for messages.

        Raises:
            BadInput: no built-in file has this name.
        """
        origin = f"built-in {self.word} {name}"
        return self.parse(self.builtin_text(name), origin), origin

    def load(self, name_or_path: str) -> tuple[FileModel, str]:
        """The content of a built-in file (by name) or of a file (by path), and its name for messages.

        Raises:
            BadInput: no such file, not YAML, or not of this kind: names the path in the file.
        """
        if name_or_path in self.builtin_names():
            return self.builtin(name_or_path)
        path = Path(name_or_path)
        if path.suffix not in SUFFIXES:
            raise self._unknown(name_or_path)
        return self.read(path), str(path)

    def read(self, path: Path) -> FileModel:
        """The content of a file.

        Raises:
            BadInput: no such file, not YAML, or not of this kind: names the path in the file.
        """
        try:
            text = path.read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise BadInput(
                f"the {self.word} file cannot be read",
                where=str(path),
                found=str(error),
                next_step=self.example,
            ) from error
        return self.parse(text, str(path))

    def parse(self, text: str, origin: str) -> FileModel:
        """The content of a YAML text; `origin` names the file in messages.

        Raises:
            BadInput: not YAML, or not of this kind: names the line and the path.
        """
        try:
            with explained():
                root = self.complete(compose_yaml(text), origin)
            data = construct_yaml(root)
        except NotYaml as error:
            raise BadInput(
                "this YAML cannot be used" if error.line is None else "this is not YAML",
                where=origin if error.line is None else f"{origin}, line {error.line}, column {error.column}",
                found=str(error),
                next_step=f"correct the line; {self.example}",
            ) from error
        if not isinstance(data, dict):
            raise BadInput(
                f"this is not {self.one}",
                where=origin,
                expected=self.expected,
                found=type(data).__name__,
                next_step=self.example,
            )
        remember_secrets(data)
        hidden_at = masked_at(data)
        if hidden_at is not None:
            raise BadInput(
                "a secret is masked in this file",
                where=f"{origin}: {hidden_at}",
                expected="the secret itself: files in a run folder never have it",
                found=MASK,
                next_step="run the original file, or insert the secret",
            )
        try:
            return self.model.model_validate(data)
        except ValidationError as error:
            file = FileText(origin, self.word, root, data, self.json_schema())
            raise as_bad_input(error, file, f"`{self.schema}` prints every key with its meaning") from error

    def json_schema(self) -> dict[str, Any]:
        """JSON schema (2020-12) of such files."""
        return dict(_schema_of(self.model))

    def schema_text(self) -> str:
        """`json_schema` as text."""
        return json.dumps(self.json_schema(), indent=2) + "\n"

    def _folder(self) -> Traversable:
        return resources.files("harness") / self.folder

    def _unknown(self, name: str, or_file: str = f", or a file ending in {', '.join(SUFFIXES)}") -> BadInput:
        known = self.builtin_names()
        return BadInput(
            f"no {self.word} is called {name!r}",
            expected=f"one of {', '.join(known)}{or_file}",
            next_step=did_you_mean(name, known, self.example),
        )
