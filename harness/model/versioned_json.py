"""Reads JSON files that name their schema version, and explains why a file cannot be used."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Generic, Literal, TypeVar

from pydantic import BaseModel, ValidationError

from harness.model.errors import DENIED, JournalError, located_words_of
from harness.model.journal import SCHEMA_VERSION
from harness.model.storage import StoragePath

Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Refusal:
    """The parts of an error about a file that cannot be used; `expected` None: names the right version."""

    what: str
    next_step: str
    expected: str | None = None


@dataclass(frozen=True, slots=True)
class VersionedFile(Generic[Model]):
    """A kind of file that holds a `model` with a `schema_version`, and the errors for files that cannot be
    used.

    `damaged`: it cannot be parsed. `another`: it has another version, or lacks the `key` that distinguishes
    it from other files of this name. `absent`: it does not exist (None: as damaged). `runs` returns the
    schema versions of the run folders that it refers to. `no_text` says whether bytes that are not UTF-8 make
    it damaged ("strict") or are replaced.
    """

    model: type[Model]
    version: int
    damaged: Refusal
    another: Refusal
    absent: Refusal | None = None
    key: str = "schema_version"
    runs: Callable[[Model], Iterable[int]] | None = None
    no_text: Literal["strict", "replace"] = "strict"

    def read(self, path: StoragePath) -> Model:
        """The content of the file.

        Raises:
            JournalError: it cannot be read, is not of this kind, or has another version.
        """
        try:
            data = json.loads(path.read_bytes().decode(errors=self.no_text))
        except OSError as error:
            reason = error.strerror or str(error)
            refusal = self.absent or self.damaged
            if re.search(DENIED, reason):
                refusal = replace(self.damaged, next_step="get rights or keys with which it can be read")
            raise self._refused(refusal, path, reason) from error
        except (ValueError, RecursionError) as error:
            raise self._refused(self.damaged, path, str(error)) from error
        # Checked before the fields, which differ between versions.
        found = data.get("schema_version") if isinstance(data, dict) else None
        if found != self.version or self.key not in data:
            raise self._refused(self.another, path, f"schema version {found}")
        try:
            value = self.model.model_validate(data)
        except ValidationError as error:
            raise self.misfit(path, error) from error
        others = set(self.runs(value) if self.runs else ()) - {SCHEMA_VERSION}
        if others:
            raise self._refused(self.another, path, f"run folders of {', '.join(map(str, sorted(others)))}")
        return value

    def misfit(self, path: StoragePath, error: ValidationError) -> JournalError:
        """The error for a file whose fields do not fit the model."""
        return self._refused(self.damaged, path, located_words_of(error))

    def _refused(self, refusal: Refusal, path: StoragePath, found: str) -> JournalError:
        expected = refusal.expected or f"JSON of schema version {self.version}"
        if refusal is self.another and self.runs:
            expected += f", run folders of {SCHEMA_VERSION}"
        return JournalError(
            refusal.what, where=str(path), expected=expected, found=found, next_step=refusal.next_step
        )
