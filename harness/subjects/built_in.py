"""The descriptions of built-in applications: YAML files in `built_ins/`, one for each."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from harness.check_jobs.spark_jars import KAFKA, jars_of
from harness.config.yaml_files import FileKind
from harness.model.errors import BadInput, did_you_mean, located_words_of
from harness.model.frozen import Frozen
from harness.spec.application import DrainedWhen, ReadyWhen
from harness.subjects.jars import jars_of_pom
from harness.subjects.option import Option, options_model


class MavenJars(Frozen):
    """The jars of `compose/applications/POM/pom.xml`."""

    pom: str
    title: str = Field(description="what they are, for people")
    versions: dict[str, str] = Field(
        default_factory=dict, description="a property of the pom, and the option that sets it"
    )


class BuiltIn(Frozen):
    """A built-in application. `ready` and `drained` hold where the experiment names none."""

    name: str
    summary: str
    program: str = Field(description="a module of harness.subjects with `main(options)`")
    variant: str | None = Field(default=None, description="which of several things the program does")
    jars: MavenJars | Literal["spark-kafka"] | None = Field(
        default=None, description="what the program runs; fetched before a cluster is started"
    )
    options: dict[str, Option] = Field(default_factory=dict)
    ready: ReadyWhen = ReadyWhen(group="active")
    drained: DrainedWhen = DrainedWhen(lag=0, quiet=1.0)
    checkpoint: Literal["spark"] | None = Field(
        default=None,
        description="whose checkpoints are in its state folder",
    )
    two_clusters: bool = Field(
        default=False, description="its output may be on another cluster than its input"
    )

    @cached_property
    def options_model(self) -> type[Frozen]:
        """The model of its options."""
        return options_model(self.options)

    def parsed(self, options: Mapping[str, Any]) -> Frozen:
        """The options as a model.

        Raises:
            BadInput: an option that it does not have, or a wrong value.
        """
        try:
            return self.options_model.model_validate(options)
        except ValidationError as error:
            raise BadInput(
                f"the built-in application {self.name!r} does not take these options",
                where="application.run.options",
                expected=", ".join(self.options) or "no options",
                found=located_words_of(error),
                next_step="correct the options: docs/how-to/applications.md lists them",
            ) from error

    def fetched_jars(self, options: object) -> tuple[Path, ...]:
        """The files of its jars, in the cache of `harness.host.maven`, fetched at their first use; `options`
        has its options as attributes.

        Raises:
            PrerequisiteMissing: they are not available.
        """
        if self.jars is None:
            return ()
        if self.jars == "spark-kafka":
            return jars_of(KAFKA)
        versions = {key: getattr(options, option) for key, option in self.jars.versions.items()}
        return jars_of_pom(self.jars.pom, self.jars.title, versions)


BUILT_IN = FileKind(
    BuiltIn,
    one="an application",
    expected="a mapping with name, summary and program",
    example="harness/subjects/built_ins has all that there are",
    schema="python -m harness.subjects --schema",
    folder="subjects/built_ins",
)


def built_in_names() -> tuple[str, ...]:
    """The names of all built-in applications, as experiment files have them."""
    return BUILT_IN.builtin_names()


def find(name: str) -> BuiltIn:
    """The built-in application of this name.

    Raises:
        BadInput: there is none, or its description is wrong.
    """
    known = built_in_names()
    if name in known:
        return BUILT_IN.builtin(name)[0]
    raise BadInput(
        f"there is no built-in application {name!r}",
        where="application.run.builtin",
        expected=f"one of {', '.join(known)}",
        next_step=did_you_mean(name, known, "correct the name: docs/how-to/applications.md lists them"),
    )
