"""Makes the instances of an application from its description: arguments, environment and start of each."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from harness.cluster.live import LiveCluster
from harness.cluster.managed import ManagedCluster
from harness.model.application_journal import APPLICATION_DIR
from harness.model.errors import BadInput
from harness.model.frozen import Frozen
from harness.model.host.orphans import mark_of
from harness.model.host.process_group import ProcessCommand
from harness.model.journal import RowSink
from workloads.applications.application_spec import ApplicationSpec, DrainedWhen, ReadyWhen
from workloads.applications.built_in.built_in import BUILT_IN, BuiltIn, find, processed_offsets
from workloads.applications.built_in.lifecycle import JARS_VARIABLE, command_line
from workloads.applications.container_instance import (
    STATE,
    ApplicationContainers,
    ContainerInstance,
    Instance,
    require_container,
)
from workloads.applications.group_watch import GroupWatch
from workloads.applications.host_process import HostProcess
from workloads.applications.outputs.identity_spec import CallableIdentity, HeaderIdentity, JsonIdentity
from workloads.applications.outputs.output_identity import OutputIdentity
from workloads.applications.outputs.templated_values import input_by_template
from workloads.applications.running_application import RunningApplication
from workloads.applications.source_clients import SourceClient
from workloads.applications.source_input import FOLDER, SourceWatch
from workloads.records.config.workload_spec import WorkloadSpec


@dataclass(frozen=True, slots=True)
class Prepared:
    """An application whose built-in, if it is one, was found, and whose jars were fetched."""

    spec: ApplicationSpec
    built_in: BuiltIn | None = None
    options: Frozen | None = None
    jars: tuple[Path, ...] = ()

    @property
    def reads_in_group(self) -> bool:
        """Whether the name of its consumer group is known."""
        if self.built_in is None:
            return self.spec.knows_group
        return self.ready.group is not None or self.drained.lag is not None

    @property
    def ready(self) -> ReadyWhen:
        """When it is ready: as the experiment says, as its built-in says, or when its group is active."""
        usual = ReadyWhen(group="active") if self.spec.knows_group else ReadyWhen(runs=1.0)
        return self.spec.ready or (self.built_in.ready if self.built_in else usual)

    @property
    def drained(self) -> DrainedWhen:
        """When it has nothing left to do."""
        # If nothing but its silence shows that an application is done, it has to be silent for longer.
        usual = DrainedWhen(lag=0, quiet=1.0) if self.spec.knows_group else DrainedWhen(quiet=5.0)
        return self.spec.drained or (self.built_in.drained if self.built_in else usual)


def prepare(spec: ApplicationSpec) -> Prepared:
    """Look up what is built in, and fetch what it needs.

    Raises:
        BadInput: no such built-in application, it does not take these options or a second cluster, no such
            image, or its outputs cannot be mapped to their inputs as it says.
        PrerequisiteMissing: its jars are not available.
    """
    identity_of(spec)
    if spec.run.container is not None:
        require_container(spec.run.container)
    if spec.run.builtin is None:
        return Prepared(spec)
    built_in = find(spec.run.builtin)
    if built_in.reads != ("topic" if spec.input is None else "file" if spec.input.file else "endpoint"):
        reads = "a topic" if built_in.reads == "topic" else "a file"
        raise BadInput(
            f"the built-in application {built_in.name!r} reads {reads}",
            where="application.input",
            expected="no `input`" if built_in.reads == "topic" else "`input: {file: NAME}`",
            next_step="correct `input`, or run another application",
        )
    if spec.output.cluster is not None and not built_in.two_clusters:
        able = (name for name in BUILT_IN.builtin_names() if find(name).two_clusters)
        raise BadInput(
            f"the built-in application {built_in.name!r} cannot write to a second cluster",
            where="application.output.cluster",
            expected=f"one of {', '.join(able)}",
            next_step="leave `cluster` out, or choose one of these",
        )
    options = built_in.parsed(spec.run.options)
    return Prepared(spec, built_in, options, built_in.fetched_jars(options))


def identity_of(spec: ApplicationSpec, workload: WorkloadSpec | None = None) -> OutputIdentity:
    """What maps the outputs of an application to their inputs, which the workload writes.

    Raises:
        BadInput: the path cannot be read, the function cannot be imported, or a table has no headers.
    """
    if spec.output.table == "deliveries":
        return OutputIdentity("delivery")
    match spec.identity:
        case HeaderIdentity():
            if spec.output.table is not None:
                raise BadInput(
                    "an application's outputs cannot name their inputs in a header",
                    where="application.identity.header",
                    expected="value, key, json or callable, since the output is a table",
                    found=f"header {spec.identity.header}",
                    next_step="write the identity into a column, and name it with json or callable",
                )
            return OutputIdentity("header", spec.identity.header)
        case JsonIdentity():
            return OutputIdentity("json", spec.identity.json_)
        case CallableIdentity():
            return OutputIdentity("callable", spec.identity.callable)
    by_template = input_by_template(workload) if workload and spec.identity == "value" else None
    return OutputIdentity(spec.identity, by_template=by_template)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where an application runs. `output` is its output topic (None: a table) on `output_cluster`, `folder`
    the run's; `value_bytes` is the size of an input's value. `source` writes the input, if it is no topic."""

    cluster: LiveCluster
    output_cluster: LiveCluster
    input: str
    partitions: int
    output: str | None
    output_partitions: int
    transactional: bool
    folder: Path
    value_bytes: int
    source: SourceClient | None = None

    def state(self, number: int) -> Path:
        """The state folder of an instance on this machine."""
        return (self.folder / APPLICATION_DIR / f"state-{number}").absolute()


def launch(prepared: Prepared, around: Surroundings, events: RowSink) -> RunningApplication:
    """Make the instances of an application; nothing is started yet.

    Raises:
        BadInput: a state folder cannot be made.
    """
    spec = prepared.spec
    group = spec.group or group_of(around.input)
    placeholders = [placeholders_of(spec, around, group, number) for number in range(spec.instances)]
    commands = [command_of(prepared, placeholder) for placeholder in placeholders]
    instances = _instances(spec, around, commands)
    watch = GroupWatch(
        group if prepared.reads_in_group else None,
        around.input,
        around.partitions,
        bootstrap=around.cluster.bootstrap,
        security=around.cluster.access.properties,
        transactional=around.transactional,
    )
    output_watch = GroupWatch(
        None,
        around.output or around.input,
        around.output_partitions,
        bootstrap=around.output_cluster.bootstrap,
        security=around.output_cluster.access.properties,
        transactional=False,
    )

    def checkpoints() -> dict[int, int]:
        offsets: dict[int, int] = {}
        for placeholder in placeholders:
            for partition, offset in processed_offsets(Path(placeholder["state"])).items():
                offsets[partition] = max(offset, offsets.get(partition, 0))
        return offsets

    return RunningApplication(
        spec,
        instances,
        watch if around.source is None else SourceWatch(around.source),
        ready=prepared.ready,
        drained=prepared.drained,
        output=None if around.output is None else output_watch,
        tables=[placeholder["output"] for placeholder in placeholders],
        value_bytes=around.value_bytes,
        checkpoints=checkpoints if prepared.built_in and prepared.built_in.checkpoint == "spark" else None,
        events=events,
    )


def _instances(
    spec: ApplicationSpec, around: Surroundings, commands: Sequence[ProcessCommand]
) -> list[Instance]:
    logs = [around.folder / APPLICATION_DIR / f"instance-{number}.log" for number in range(len(commands))]
    if spec.run.container is None:
        # Its processes carry this in their environment, so that they are found when this process is gone.
        mark = mark_of(around.cluster.name)
        return [
            HostProcess(f"application {number}", command, logs[number], mark)
            for number, command in enumerate(commands)
        ]
    assert isinstance(around.cluster, ManagedCluster), "checked when the experiment was made"
    files = (around.folder / APPLICATION_DIR / FOLDER).absolute()
    mounts = {str(files): {"bind": f"/{FOLDER}", "mode": "ro"}} if files.exists() else {}
    containers = ApplicationContainers(around.cluster, spec.instances, mounts)
    return [
        ContainerInstance(
            containers, node.id, spec.run.container, commands[number], logs[number], around.state(number)
        )
        for number, node in enumerate(containers.nodes)
    ]


def placeholders_of(spec: ApplicationSpec, around: Surroundings, group: str, number: int) -> dict[str, str]:
    """The values of `PLACEHOLDERS` for an instance, by name; also creates its state folder.

    Addresses of brokers are as the instance sees them, those of the output's brokers the same unless there is
    a second cluster. `output` is a topic, or the folder of a table; `state` survives restarts.

    Raises:
        BadInput: the folder cannot be made.
    """
    state = around.state(number)
    with BadInput.for_os_errors(
        "the state folder of the application cannot be made",
        where=state,
        next_step="name another folder with --results",
    ):
        state.mkdir(parents=True, exist_ok=True)
    bootstrap, output_bootstrap = around.cluster.bootstrap, around.output_cluster.bootstrap
    if spec.run.container is not None:
        assert isinstance(around.cluster, ManagedCluster), "checked when the experiment was made"
        state, bootstrap = Path(STATE), around.cluster.inside_bootstrap
        output_bootstrap = bootstrap  # There is no second cluster for containers.
    source = {}
    if around.source is not None:
        source = {"input": around.source.seen, "port": str(urlsplit(around.source.seen).port or "{port}")}
    return {
        "bootstrap": bootstrap,
        "output_bootstrap": output_bootstrap,
        "input": around.input,
        "output": around.output or str(state / spec.output.path),
        "state": str(state),
        "group": group,
        "instance": str(number),
        **source,
    }


def command_of(prepared: Prepared, placeholders: Mapping[str, str]) -> ProcessCommand:
    """The command line of an instance."""

    def filled(text: str) -> str:
        for name, value in placeholders.items():  # Other braces stay.
            text = text.replace(f"{{{name}}}", value)
        return text

    spec = prepared.spec
    environment = {name: filled(text) for name, text in spec.env.items()}
    if prepared.built_in is not None:
        assert prepared.options is not None
        if prepared.jars:
            environment = {JARS_VARIABLE: os.pathsep.join(map(str, prepared.jars)), **environment}
        return ProcessCommand(
            command_line(prepared.built_in.name, placeholders, prepared.options), environment
        )
    return ProcessCommand(tuple(map(filled, spec.run.texts)), environment)


def group_of(topic: str) -> str:
    """The consumer group of an application that the experiment names no group for."""
    return f"{topic}-application"
