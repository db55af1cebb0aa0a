"""The user's own producers in an arm: the folder in which their programs find where to write, and those
programs that the run starts."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from harness.cluster.managed import ManagedCluster
from harness.model.errors import ClusterError, JournalError
from harness.model.host.orphans import mark_of
from harness.model.host.process_group import ProcessCommand, ProcessGroup
from harness.model.id_journal import LOG_IDS_DIR, SENT_IDS, SENT_IDS_DIR
from harness.model.journal import RowSink
from harness.model.program_meta import WireSettings
from harness.model.progress import report_notice
from harness.model.run import RecordIds
from harness.run.arm_setting import ArmSetting
from workloads.base import ArmClients, RunningWorkload
from workloads.own.client_settings import Judged, corrected
from workloads.own.container_program import ContainerProgram, ProgramImage
from workloads.own.log_ids import log_ids
from workloads.own.on_the_wire import weaker_on_the_wire, wire_settings
from workloads.own.own_producers import OwnProducers
from workloads.own.producer_folder import PRODUCERS_DIR, ProducerFolder, ProducerTarget
from workloads.own.program_command import commands_of
from workloads.own.started_programs import Program, StartedPrograms, describe_program
from workloads.own.strayed import strayed_records
from workloads.records.config.own_producer_spec import OwnProducerSpec
from workloads.records.journal.row_journal import RowJournal
from workloads.records.reader.final_reader import AlsoWritten


class OwnPrograms(RunningWorkload):
    """The folder that the user's programs wait for, and the programs, if the run starts them."""

    def __init__(self, setting: ArmSetting) -> None:
        self._setting = setting
        self._spec = setting.workload_spec.own or OwnProducerSpec()
        self._folder = ProducerFolder(setting.folder / PRODUCERS_DIR)
        self.ids: RowSink | None = None
        """Takes rows of SENT_IDS, once the workload is connected."""
        self.producers: OwnProducers | None = None
        """Once they are waited for."""
        self.started: StartedPrograms | None = None
        """None: the run starts none, or has not started them yet."""

    @classmethod
    def of(cls, setting: ArmSetting) -> OwnPrograms | None:
        """None: the arm has no producers of the user's."""
        return cls(setting) if setting.workload_spec.client == "own" else None

    def created(self) -> None:
        arm = self._setting
        acks = arm.arm.producer.acks
        bootstrap = arm.cluster.bootstrap
        if self._spec.image is not None:
            assert isinstance(arm.cluster, ManagedCluster), "checked when the experiment was made"
            bootstrap = arm.cluster.inside_bootstrap
        target = ProducerTarget(arm.run_id, arm.topic, acks, bootstrap, self._spec.id)
        self._folder.create(target)

    def connect(self, clients: ArmClients, stack: ExitStack) -> None:  # noqa: ARG002
        """Start the programs, or tell the user with which variables to start them; leaving the stack ends
        them."""
        arm, spec, variables = self._setting, self._spec, self._folder.environment()
        self.ids = stack.enter_context(RowJournal(arm.folder / SENT_IDS_DIR, SENT_IDS))
        commands = commands_of(spec, variables, arm.workload_spec.producers)
        if not commands:
            report_notice(block(arm.arm.name, arm.workload_spec.producers, variables))
            return
        self.started = StartedPrograms(
            [self._program(number, command) for number, command in enumerate(commands)]
        )
        stack.callback(self.started.remove)
        self.started.start()

    def _program(self, number: int, command: ProcessCommand) -> Program:
        """The program with this number, not started yet."""
        cluster, spec, path = self._setting.cluster, self._spec, self._folder.path.resolve()
        name = f"program of producer {number}" if spec.one_each else "program"
        log = path / f"program-{number}.log"
        if spec.image is None:
            mark = mark_of(cluster.name, self._setting.topic)
            return ProcessGroup(name, command, log, mark, noun="program", key="`command` below `own`")
        assert isinstance(cluster, ManagedCluster), "checked when the experiment was made"
        read = tuple(Path(folder).resolve() for folder in spec.folders)
        return ContainerProgram(name, command, ProgramImage(spec.image, (path,), read), log, cluster)

    def also_read(self, topic: str) -> AlsoWritten | None:
        place = self._spec.id
        if place is None:
            return None
        return AlsoWritten(self._setting.folder / LOG_IDS_DIR, log_ids(place, topic))

    def finish(self) -> list[str]:
        """Look whether the topic holds what was journaled."""
        try:
            return strayed_records(self._setting.folder, self._setting.topic)
        except JournalError as error:
            return [str(error)]

    def meta(self) -> Mapping[str, Any]:
        place = self._spec.id
        ids = None if place is None else RecordIds(place=place.words(), times=place.times)
        return {"ids": ids, **self._of_programs()}

    def _wire(self) -> tuple[WireSettings, ...]:
        """What proxies saw of the arm's clients; nothing without proxies."""
        cluster, topic = self._setting.cluster, self._setting.topic
        if cluster.proxies is None:
            return ()
        try:
            return wire_settings(cluster.proxies.produced(), {topic, cluster.topic_id(topic)})
        except ClusterError:
            # Proxies that do not answer have seen nothing; nothing is judged by them.
            return ()

    def _of_programs(self) -> Mapping[str, Any]:
        if self.producers is None:
            return {}
        settings, workload = self._setting.arm.producer, self._setting.workload_spec
        idempotent = settings.enable_idempotence or workload.transactional
        of_arm = Judged(settings.acks, idempotent, settings.max_in_flight)
        known = corrected(of_arm, self.producers.settings, producers=self.producers.opened)
        said, wire = {**asdict(of_arm), **known}, self._wire()
        weaker = weaker_on_the_wire(wire, said["acks"], idempotent=said["idempotent"])
        known = {**known, "wire": wire, "remarks": (*known.get("remarks", ()), *weaker)}
        if self.started is None:
            return known
        programs = self.started.metas()
        # A program whose journal is whole says with its code what it thinks of its own sends.
        failed = () if self.producers.problems else [one for one in programs if one.code and not one.stopped]
        remarks = (*known["remarks"], *map(describe_program, failed))
        return {**known, "programs": programs, "remarks": remarks}

    def abort(self) -> None:
        if self.started is not None:
            self.started.remove()


def block(arm: str, producers: int, variables: Mapping[str, str]) -> str:
    """What a user copies into the shell of a program that the run waits for."""
    lines = (f"export {name}={shlex.quote(value)}" for name, value in variables.items())
    return "\n".join((f"# arm {arm} waits for {producers} producer(s) of a program started with:", *lines))


def own_producers(
    setting: ArmSetting,
    clients: ArmClients,
    running: Sequence[RunningWorkload],
) -> OwnProducers:
    """The user's producers, by what their programs write into the folder."""
    folder = ProducerFolder(setting.folder / PRODUCERS_DIR)
    own = next((workload for workload in running if isinstance(workload, OwnPrograms)), None)
    started, ids = (None, None) if own is None else (own.started, own.ids)
    expected = setting.workload_spec.producers
    producers = OwnProducers(
        *(folder, expected, clients.sends, clients.transactions), programs=started, ids=ids
    )
    if own is not None:
        own.producers = producers
    return producers
