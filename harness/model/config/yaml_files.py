"""Reads YAML files that people write, and explains exactly what is wrong with an invalid one.

They are plain data within limits on size, so that no file runs code or takes forever to read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Generic, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from harness.model.config.built_in_files import built_in_files
from harness.model.config.other_files import built_in_of_another_kind, recognised
from harness.model.config.yaml_problems import FileText, as_bad_input
from harness.model.errors import BadInput, did_you_mean
from harness.model.frozen import plain
from harness.model.secrets import MASK, masked_at, remember_secrets

FileModel = TypeVar("FileModel", bound=BaseModel)
SUFFIXES = (".yaml", ".yml", ".json")
"""JSON is YAML too: the experiment.json in a results folder runs again."""
MOST_CHARACTERS = 2_000_000
MOST_DOCUMENTS = 1_000
MOST_VALUES = 100_000
"""Aliases count each time they are used: nine lines of them can expand to billions of values."""
DEEPEST = 60
_HINTS = {"mapping values are not allowed here": "a text that contains `: ` needs quotes"}
"""Clearer messages for errors of PyYAML that do not say what to do."""


class NotYaml(Exception):
    """Why a text cannot be used as YAML; `line` and `column` count from 1 (None: not known)."""

    def __init__(self, why: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(why)
        self.line, self.column = line, column


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
    example, `schema` is the command that prints its schema. `folder` has the built-in files.
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
        files = (Path(entry.name) for entry in built_in_files(self.folder).iterdir())
        return tuple(sorted(file.stem for file in files if file.suffix == ".yaml"))

    def builtin_text(self, name: str) -> str:
        """The YAML text of a built-in file.

        Raises:
            BadInput: no built-in file has this name.
        """
        if name not in self.builtin_names():
            raise self._unknown(name, or_file="")
        return (built_in_files(self.folder) / f"{name}.yaml").read_text()

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
        with BadInput.for_errors(
            (OSError, UnicodeDecodeError),
            f"the {self.word} file cannot be read",
            where=path,
            next_step=self.example,
        ):
            text = path.read_text()
        return self.parse(text, str(path))

    def parse(self, text: str, origin: str) -> FileModel:
        """The content of a YAML text; `origin` names the file in messages.

        Raises:
            BadInput: not YAML, or not of this kind: names the line and the path.
        """
        try:
            root, data = _read_yaml(text, lambda node: self.complete(node, origin))
        except BadInput as error:
            raise self._another_kind(text, origin) or error from error
        except NotYaml as error:
            raise self._another_kind(text, origin) or BadInput(
                "this YAML cannot be used" if error.line is None else "this is not YAML",
                where=origin if error.line is None else f"{origin}, line {error.line}, column {error.column}",
                found=str(error),
                next_step=f"correct the line; {self.example}",
            ) from error
        if not isinstance(data, dict):
            raise self._another_kind(text, origin) or BadInput(
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
            next_step = f"`{self.schema}` prints every key with its meaning"
            raise self._another_kind(text, origin) or as_bad_input(error, file, next_step) from error

    def json_schema(self) -> dict[str, Any]:
        """JSON schema (2020-12) of such files."""
        return dict(_schema_of(self.model))

    def schema_text(self) -> str:
        """`json_schema` as text."""
        return json.dumps(self.json_schema(), indent=2) + "\n"

    def _another_kind(self, text: str, origin: str) -> BadInput | None:
        """That the text is a file of another kind; None: it is none that is known."""
        with suppress(NotYaml):
            for document in _read_documents(text):
                if (other := recognised(document, origin, self.folder)) is not None:
                    return BadInput(
                        f"this is {other.what}, not {self.one}", where=origin, next_step=other.next_step
                    )
        return None

    def _unknown(self, name: str, or_file: str = f", or a file ending in {', '.join(SUFFIXES)}") -> BadInput:
        known = self.builtin_names()
        if (other := built_in_of_another_kind(name, self.folder)) is not None:
            return BadInput(f"{name} is {other.what}, not {self.one}", next_step=other.next_step)
        return BadInput(
            f"no {self.word} is called {name!r}",
            expected=f"one of {', '.join(known)}{or_file}",
            next_step=did_you_mean(name, known, self.example),
        )


def _read_yaml(
    text: str, complete: Callable[[yaml.Node | None], yaml.Node | None]
) -> tuple[yaml.Node | None, Any]:
    """The nodes of a text as `complete` returns them, which know their lines (None: the text is empty), and
    their mappings, lists and scalars by YAML's safe schema; no other types are possible.

    Raises:
        NotYaml: it is not YAML, is too large, or a value is impossible (the 31st of February).
    """
    if len(text) > MOST_CHARACTERS:
        raise NotYaml(f"too large: more than {MOST_CHARACTERS:,} characters")
    try:
        root = complete(yaml.compose(text, Loader=yaml.SafeLoader))
        data = None if root is None else yaml.SafeLoader("").construct_document(root)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        why = str(getattr(error, "problem", None) or error)
        why = f"{why}: {_HINTS[why]}" if why in _HINTS else why
        raise NotYaml(why, mark and mark.line + 1, mark and mark.column + 1) from error
    except RecursionError as error:
        raise NotYaml(f"too large: nested more than {DEEPEST} levels deep") from error
    except (ValueError, OverflowError, TypeError, AttributeError, KeyError, IndexError) as error:
        # Raised by PyYAML's constructors for dates, numbers and merges that only look like ones.
        raise NotYaml(f"an impossible value: {error}") from error
    _check_size(data)
    return root, data


def _read_documents(text: str) -> list[Any]:
    """The documents of a YAML text, or the one of a JSON text, which may have lines of comment (`// ...`) as
    Kafka's Trogdor allows.

    Raises:
        NotYaml: as `_read_yaml`.
    """
    if text.lstrip("\ufeff \t\r\n").startswith("//"):
        text = re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE)
    parts = re.split(r"^---(?=\s|$)", text, flags=re.MULTILINE) if len(text) <= MOST_CHARACTERS else [text]
    if len(parts) > MOST_DOCUMENTS:
        raise NotYaml(f"too large: more than {MOST_DOCUMENTS:,} documents")
    documents = (_read_yaml(part, lambda node: node)[1] for part in parts)
    return [document for document in documents if document is not None]


def _check_size(data: Any) -> None:
    waiting = [(data, 0)]
    count = 0
    while waiting:
        value, depth = waiting.pop()
        count += 1
        if depth > DEEPEST:
            raise NotYaml(f"too large: nested more than {DEEPEST} levels deep")
        if isinstance(value, dict):
            waiting += [(inner, depth + 1) for inner in value.values()]
        elif isinstance(value, list | tuple | set):
            waiting += [(inner, depth + 1) for inner in value]
        if count + len(waiting) > MOST_VALUES:
            raise NotYaml(f"too large: more than {MOST_VALUES:,} values")


def label_of(value: Any) -> str:
    """A level as part of an arm's name: `true`, `0`, `4.3.1`."""
    return str(plain(value))
