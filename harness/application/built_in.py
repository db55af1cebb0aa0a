"""What a built-in application is: a description as data, and functions from options to command lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from harness.application.places import Command, Places
from harness.model.errors import BadInput, placed_words_of
from harness.model.frozen import Frozen
from harness.spec.application import DrainedWhen, ReadyWhen


class NoOptions(Frozen):
    """The options of a built-in application that has none."""


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """A built-in application.

    `options` is the model of its options. `jars` fetches what it runs, before the cluster is asked for
    anything, and returns the files (in the cache of `harness.host.maven`); it raises PrerequisiteMissing if
    they are not available. `command` makes the command line of one instance from its options, what it is
    told, and those files. `ready` and `drained` hold where the experiment names none. `checkpoint` reads the
    offsets up to which an instance has processed its input, by partition, from its state folder; None: it
    keeps none there. `after_start` is called once for each start of an instance, for what has to be requested
    of a running one. `two_clusters`: its output may be on another cluster than its input.
    """

    name: str
    summary: str
    command: Callable[[Any, Places, tuple[Path, ...]], Command]
    options: type[Frozen] = NoOptions
    jars: Callable[[Any], tuple[Path, ...]] = lambda _options: ()
    ready: ReadyWhen = field(default_factory=lambda: ReadyWhen(group="active"))
    drained: DrainedWhen = field(default_factory=lambda: DrainedWhen(lag=0, quiet=1.0))
    checkpoint: Callable[[Path], Mapping[int, int]] | None = None
    after_start: Callable[[Any, Places], None] | None = None
    two_clusters: bool = False

    def parsed(self, options: Mapping[str, Any]) -> Frozen:
        """The options as a model.

        Raises:
            BadInput: an option that it does not have, or a wrong value.
        """
        try:
            return self.options.model_validate(options)
        except ValidationError as error:
            known = ", ".join(self.options.model_fields) or "no options"
            raise BadInput(
                f"the built-in application {self.name!r} does not take these options",
                where="application.run.options",
                expected=known,
                found=placed_words_of(error),
                next_step="correct the options: docs/how-to/applications.md lists them",
            ) from error
