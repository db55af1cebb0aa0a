"""An application under test as data: what it is, where its output goes, and what it promises."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import SplitResult, urlsplit

from pydantic import Field, model_validator

from harness.model.application_meta import Guarantee
from harness.model.environment import check_passable
from harness.model.errors import closest
from harness.model.frozen import Frozen
from harness.spec.cluster import OutputCluster
from harness.spec.topic import TopicSettings
from workloads.applications.outputs.identity_spec import Identity

PLACEHOLDERS = ("bootstrap", "output_bootstrap", "input", "output", "state", "group", "instance")
"""What arguments and environment variables may hold in braces; with an HTTP endpoint also `port`."""
_PLACEHOLDER = re.compile(r"(?<!\$)\{([a-z_]+)\}")
_OTHER_NAMES = {
    **dict.fromkeys(("topic", "topics", "input_topic", "source", "source_topic"), "input"),
    **dict.fromkeys(("output_topic", "sink", "sink_topic", "target", "target_topic"), "output"),
    **dict.fromkeys(("bootstrap_servers", "bootstrap_server", "servers", "brokers", "broker"), "bootstrap"),
    **dict.fromkeys(("group_id", "consumer_group", "groupid"), "group"),
}
"""What other tools call a placeholder, and its name here."""
_PATH = r"^[\w=+.-]+(/[\w=+.-]+)*$"


class ContainerApplication(Frozen):
    """A container on the cluster's network. `{bootstrap}` is then the brokers' address inside the network,
    and `{state}` the folder /state."""

    image: str = Field(min_length=1, description="image reference, local or pulled")
    command: tuple[str, ...] | None = Field(None, description="instead of the image's own command")
    files: dict[str, str] = Field(
        default_factory=dict,
        description="file in the container -> file on this machine, copied before the start",
    )


class ApplicationRun(Frozen):
    """What runs: a process on this machine, a container, or a built-in application. Exactly one."""

    process: tuple[str, ...] | None = Field(None, min_length=1, description="command and arguments")
    container: ContainerApplication | None = None
    builtin: str | None = Field(None, description="name of a built-in application")
    options: dict[str, Any] = Field(default_factory=dict, description="options of the built-in application")

    @model_validator(mode="after")
    def _one(self) -> ApplicationRun:
        given = [name for name in RUN_KINDS if getattr(self, name) is not None]
        if len(given) != 1:
            found = " and ".join(given) or "none"
            raise ValueError(f"expected one of {', '.join(RUN_KINDS)}, got {found}")
        if self.options and self.builtin is None:
            raise ValueError("`options` are those of a `builtin`; use arguments or `env` instead")
        return self

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts that may hold placeholders."""
        return self.process or (self.container and self.container.command) or ()


RUN_KINDS = ("process", "container", "builtin")


class OutputTopic(TopicSettings):
    """The output topic, created before the application starts; absent settings are those of the input."""


class ApplicationOutput(Frozen):
    """Where the output goes: a topic that we create, or a table in files below `{state}`.

    With `table: deliveries` it is a journal of what was handled (`workloads.applications.deliveries`).
    `per_input` is the number of outputs that an input has when nothing is doubled. `cluster` is a second
    cluster, whose brokers are `{output_bootstrap}`: the output topic is there, and what else it writes.
    """

    topic: OutputTopic | None = None
    table: Literal["parquet", "lines", "deliveries"] | None = Field(
        None, description="Parquet files, lines with a record each, or a journal of what was handled"
    )
    path: str = Field("output", pattern=_PATH, description="folder of a table, below the state folder")
    per_input: int = Field(1, ge=1, le=1000)
    cluster: OutputCluster | None = Field(
        None, description="a second cluster, of one broker; absent: the experiment's own"
    )

    @model_validator(mode="after")
    def _one(self) -> ApplicationOutput:
        if self.topic is not None and self.table is not None:
            raise ValueError("an output is a `topic` or a `table`, not both")
        if ".." in self.path.split("/"):
            raise ValueError("`path` stays below the state folder: it cannot contain `..`")
        if self.cluster is not None and (self.of_topic.replication_factor or 1) > 1:
            raise ValueError(
                f"`topic.replication_factor` is {self.of_topic.replication_factor}, "
                "but the second cluster (`cluster`) has one broker"
            )
        return self

    @property
    def of_topic(self) -> OutputTopic:
        """The settings of the output topic, if the output is one."""
        return self.topic or OutputTopic()


class ApplicationInput(Frozen):
    """Where the input is, if it is no topic: the run writes each record as a line of a file, or posts it. The
    topic of the experiment is then the output. Exactly one of these."""

    file: str | None = Field(None, pattern=r"^[\w=+.-]+$", description="name of a file, which is `{input}`")
    http: str | None = Field(
        None,
        pattern=r"^http://[^\s]+$",
        description="URL with `{host}`, the application's address, and `{port}`, a free port of this machine",
    )

    @model_validator(mode="after")
    def _one(self) -> ApplicationInput:
        if (self.file is None) == (self.http is None):
            raise ValueError("expected one of file and http")
        try:
            host = self.url("host", "1").hostname
        except ValueError as error:
            raise ValueError(f"{self.http!r} is no URL: {error}") from None
        if self.http is not None and not host:
            raise ValueError(f"{self.http!r} names no host")
        return self

    def url(self, host: str, port: str) -> SplitResult:
        """The URL with these values of its placeholders; its parts are empty if the input is a file.

        Raises:
            ValueError: it is none.
        """
        parts = urlsplit((self.http or "").replace("{host}", host).replace("{port}", port))
        _ = parts.port  # It is looked at when it is asked for.
        return parts


class ReadyWhen(Frozen):
    """When an application counts as ready. All that is given must hold."""

    group: Literal["active"] | None = Field(
        None, description="its consumer group has members, and they have partitions"
    )
    logged: str | None = Field(None, min_length=1, description="a text in the output of every instance")
    runs: float | None = Field(None, ge=0, description="every instance has run for this number of seconds")
    within: float = Field(60.0, gt=0, le=3600, description="seconds")


class DrainedWhen(Frozen):
    """When an application has nothing left to do. All that is given must hold at once."""

    lag: int | None = Field(None, ge=0, description="its group's lag in records is at most this")
    quiet: float | None = Field(None, gt=0, description="seconds without any change of the output")
    checkpoint: bool = Field(False, description="its checkpoint is at the end of the input")
    within: float = Field(120.0, gt=0, le=3600, description="seconds")


class ApplicationSpec(Frozen):
    """An application under test: it reads the experiment's topic and writes an output.

    Arguments and values of `env` may hold `{bootstrap}`, `{output_bootstrap}` (the brokers of the output),
    `{input}`, `{output}`, `{state}` (a folder of each instance that survives restarts), `{group}`,
    `{instance}` (from 0) and, with `input: {http: ...}`, `{port}`.
    """

    run: ApplicationRun
    instances: int = Field(1, ge=1, le=16)
    env: dict[str, str] = Field(default_factory=dict)
    group: str | None = Field(
        None, min_length=1, description="its consumer group; absent: a name for each run, as `{group}`"
    )
    input: ApplicationInput | None = Field(None, description="absent: the experiment's topic")
    output: ApplicationOutput = ApplicationOutput()
    identity: Identity = "value"
    order: Literal["none", "partition", "key"] = Field(
        "none", description="the order of the input that it keeps"
    )
    guarantee: Guarantee = "at-least-once"
    ready: ReadyWhen | None = Field(None, description="absent: the built-in's, or its group is active")
    drained: DrainedWhen | None = Field(
        None, description="absent: the built-in's, or lag 0 of its group, and the output is quiet"
    )
    restarts: int = Field(0, ge=0, description="how often an instance that ends by itself starts again")
    must_fail: bool = Field(
        False, description="it must end by itself with an error; then what it has not processed is no finding"
    )
    flood: float = Field(
        20.0, gt=1, description="killed if it has written more than this times what an input may have"
    )

    @model_validator(mode="after")
    def _consistent(self) -> ApplicationSpec:
        check_passable(self.run.texts, self.env)
        placeholders = [(text, name) for text in self.texts for name in _PLACEHOLDER.findall(text)]
        for text, name in placeholders:
            meant = name if name in (*PLACEHOLDERS, "port") else _OTHER_NAMES.get(name)
            # Braces may be the application's own: another tool's name counts where ours is not used.
            if any(meant == other for _, other in placeholders):
                continue
            if (close := meant or closest(name, PLACEHOLDERS)) is not None:
                raise ValueError(f"{text!r} holds {{{name}}}: did you mean {{{close}}}?")
        if self.input is not None:
            self._check_source()
        if self.run.builtin is None and not self.knows_group:
            asks = {"ready": self.ready and self.ready.group, "drained": self.drained and self.drained.lag}
            for field, value in asks.items():
                if value is not None:
                    raise ValueError(
                        f"`{field}` asks for a group: set `group`, or give it to the application as {{group}}"
                    )
        if self.output.cluster is not None:
            if self.run.container is not None:
                raise ValueError("a container cannot reach the second cluster of `output`: run a process")
            if self.run.process is not None and not any("{output_bootstrap}" in text for text in self.texts):
                raise ValueError(
                    "`output` has a second cluster: give its brokers to the application as {output_bootstrap}"
                )
        if self.output.table == "deliveries" and (self.identity, self.order) != ("value", "none"):
            raise ValueError("with `table: deliveries` leave `identity` and `order` out: there is no output")
        if self.output.table is not None and self.order == "partition":
            raise ValueError(
                "a table has no partitions whose order could be kept: use `order: none` or `key`"
            )
        return self

    def _check_source(self) -> None:
        """Raises ValueError for what an application that reads no topic cannot have."""
        drained = self.drained or DrainedWhen()
        for given, what in (
            (self.instances > 1, "two instances would take the same input: leave `instances` out"),
            (
                self.knows_group or (self.ready and self.ready.group) or drained.lag is not None,
                "it is in no consumer group: leave `group`, {group} and `lag` out",
            ),
            (
                self.output != ApplicationOutput(per_input=self.output.per_input),
                "its output is the experiment's topic: of `output` only `per_input` is possible",
            ),
            (drained.checkpoint, "no checkpoint is known: of `drained` only `quiet` is possible"),
        ):
            if given:
                raise ValueError(f"with `input` {what}")

    @property
    def texts(self) -> tuple[str, ...]:
        """The arguments and the environment, before placeholders are filled in."""
        return (*self.run.texts, *self.env.values())

    @property
    def knows_group(self) -> bool:
        """Whether it is known in which consumer group a process or container is."""
        return self.group is not None or any("{group}" in text for text in self.texts)

    @property
    def has_names_of_the_run(self) -> bool:
        """Whether runs beside each other may each have one: processes in a group that has its name from the
        run, with nothing that only one can have."""
        return self.run.process is not None and (self.group, self.input, self.output.cluster) == (None,) * 3

    @property
    def in_container(self) -> bool:
        """Whether its instances are containers."""
        return self.run.container is not None


def merged(base: ApplicationSpec | None, fields: Mapping[str, Any]) -> ApplicationSpec:
    """The application of an arm: the experiment's with these fields instead of its own.

    `env`, `ready`, `drained` and the options of a built-in are merged name by name; `run` is replaced if it
    names a process, container or built-in.

    Raises:
        ValidationError: the result is not an application.
    """
    if base is None:
        return ApplicationSpec.model_validate(fields)
    before = base.model_dump(by_alias=True, exclude_unset=True)
    result = {**before, **fields}
    for name in ("env", "ready", "drained"):
        if isinstance(before.get(name), dict) and isinstance(fields.get(name), Mapping):
            result[name] = {**before[name], **fields[name]}
    run = fields.get("run")
    if isinstance(run, Mapping) and not set(run) & set(RUN_KINDS):
        options = run.get("options") or {}
        if isinstance(options, Mapping):
            options = {**before["run"].get("options", {}), **options}
        result["run"] = {**before["run"], **run, **({"options": options} if options else {})}
    return ApplicationSpec.model_validate(result)
