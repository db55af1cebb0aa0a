"""Descriptions of built-in applications (`built_ins/*.yaml`), and what checkpoints in state folders tell."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, ValidationError, create_model

import compose
from harness.check_jobs.spark_jars import KAFKA, jars_of
from harness.model.config.yaml_files import FileKind
from harness.model.errors import BadInput, did_you_mean, located_words_of
from harness.model.frozen import Frozen, Setting
from harness.model.host.fetched import copy_dependencies, fetching, jar_cache, require_commands, unresolved
from harness.model.progress import report_progress
from workloads.applications.application_spec import DrainedWhen, ReadyWhen

CHECKPOINT = "checkpoint"
"""The folder of Spark's checkpoint in the state folder."""


class MavenJars(Frozen):
    """The jars of `compose/applications/POM/pom.xml`."""

    pom: str
    title: str = Field(description="what they are, for people")
    versions: dict[str, str] = Field(
        default_factory=dict, description="a property of the pom, and the option that sets it"
    )

    def fetched(self, options: object) -> tuple[Path, ...]:
        """Their files, fetched at their first use; `options` has the versions as attributes.

        Raises:
            PrerequisiteMissing: Maven is missing, or cannot resolve these versions.
        """
        versions = {key: getattr(options, option) for key, option in self.versions.items()}
        folder = jar_cache() / "-".join((self.pom, *versions.values()))
        if not folder.is_dir():
            purpose = " ".join((self.title, *versions.values()))
            require_commands({"mvn": "maven"}, purpose)
            report_progress(f"fetching the jars of {purpose} (Maven)")
            pom = compose.FOLDER / "applications" / self.pom / "pom.xml"
            with fetching(folder) as fetched:
                properties = (f"-D{key}={value}" for key, value in versions.items())
                error = copy_dependencies(pom, fetched, *properties)
                if error is not None:
                    raise unresolved(purpose, pom, error)
        return tuple(sorted(folder.glob("*.jar")))


class Option(Frozen):
    """What `options` of an experiment may hold under the option's name. An option without a default may be
    left out, and is null then."""

    type: Literal["text", "integer", "integers", "boolean", "settings"] = "text"
    help: str
    default: Any = None
    choices: tuple[str, ...] = Field(default=(), description="of a text: all that it may be")
    pattern: str | None = Field(default=None, description="of a text: what it looks like")
    least: int | None = Field(default=None, description="of integers")
    refused: dict[str, str] = Field(default_factory=dict, description="choices that are refused, and why")

    @property
    def annotation(self) -> Any:
        """The type of its values for pydantic."""
        integer = Annotated[int, Field(ge=self.least)]
        text = Literal[self.choices] if self.choices else Annotated[str, Field(pattern=self.pattern)]
        annotation: Any = {
            "text": Annotated[text, AfterValidator(self._not_refused)],
            "integer": integer,
            "integers": Annotated[tuple[integer, ...], Field(min_length=1)],
            "boolean": bool,
            "settings": dict[str, Setting],
        }[self.type]
        return annotation if self.default is not None else annotation | None

    def _not_refused(self, value: str) -> str:
        if value in self.refused:
            raise ValueError(self.refused[value])
        return value


class BuiltIn(Frozen):
    """A built-in application. `ready` and `drained` hold where the experiment names none."""

    name: str
    summary: str
    program: str = Field(description="a module of workloads.applications.built_in with `main(options)`")
    variant: str | None = Field(default=None, description="which of several things the program does")
    jars: MavenJars | Literal["spark-kafka"] | None = Field(
        default=None, description="what the program runs; fetched before a cluster is started"
    )
    options: dict[str, Option] = Field(default_factory=dict)
    ready: ReadyWhen = ReadyWhen(group="active")
    drained: DrainedWhen = DrainedWhen(lag=0, quiet=1.0)
    checkpoint: Literal["spark"] | None = Field(
        default=None, description="whose checkpoints are in its state folder"
    )
    reads: Literal["topic", "file"] = Field(default="topic", description="what its input is")
    two_clusters: bool = Field(
        default=False, description="its output may be on another cluster than its input"
    )

    @cached_property
    def options_model(self) -> type[Frozen]:
        """The model of its options."""
        fields: dict[str, Any] = {
            name: (
                option.annotation,
                Field(default=option.default, validate_default=True, description=option.help),
            )
            for name, option in self.options.items()
        }
        return create_model("Options", __base__=Frozen, **fields)

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
        """The files of its jars, fetched at their first use into the cache of `harness.model.host.fetched`;
        `options` has its options as attributes.

        Raises:
            PrerequisiteMissing: they are not available.
        """
        if self.jars is None:
            return ()
        return jars_of(KAFKA) if self.jars == "spark-kafka" else self.jars.fetched(options)


BUILT_IN = FileKind(
    BuiltIn,
    one="an application",
    expected="a mapping with name, summary and program",
    example="workloads/applications/built_in/built_ins has all that there are",
    schema="python -m workloads.applications.built_in --schema",
    folder="workloads/applications/built_in/built_ins",
)


def find(name: str) -> BuiltIn:
    """The built-in application of this name.

    Raises:
        BadInput: there is none, or its description is wrong.
    """
    known = BUILT_IN.builtin_names()
    if name in known:
        return BUILT_IN.builtin(name)[0]
    raise BadInput(
        f"there is no built-in application {name!r}",
        where="application.run.builtin",
        expected=f"one of {', '.join(known)}",
        next_step=did_you_mean(name, known, "correct the name: docs/how-to/applications.md lists them"),
    )


def processed_offsets(state: Path) -> Mapping[int, int]:
    """The offsets up to which committed batches of Spark have processed the input, by partition."""
    folder = state / CHECKPOINT
    commits = [int(file.name) for file in (folder / "commits").glob("*") if file.name.isdigit()]
    for number in sorted(commits, reverse=True):
        try:
            last = (folder / "offsets" / str(number)).read_text().splitlines()[-1]
            (partitions,) = json.loads(last).values()
            return {int(partition): int(offset) for partition, offset in partitions.items()}
        except (OSError, ValueError, IndexError):
            continue  # It is being written, or was removed meanwhile.
    return {}
