"""Command: a fault that the user's own shell lines inject, prove and heal."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from faults.shared.fault_spec import Evidence, FaultSpec, Injection, InjectionContext
from faults.shared.words import node_names
from faults.targets import Target
from faults.targets.target_context import ClusterShape
from harness.model.environment import users_environment
from harness.model.errors import FaultError
from harness.model.polling import poll_within

_AGAIN_SECONDS = 0.5
_KEPT = 400
"""The number of characters kept of the end of what a line printed."""
_BACK_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class CommandResult:
    """How a shell line ended: its exit code (None: it took too long and was killed), and what it printed."""

    code: int | None
    text: str

    def describe(self, seconds: float) -> str:
        how = f"exit code {self.code}" if self.code is not None else f"not ended within {seconds:g} s"
        return f"{how}: {self.text}" if self.text else how


class Commanded(Injection):
    """Shell lines of the user, run for these brokers."""

    inject: str
    proof: str
    heal_line: str
    numbers: tuple[int, ...] = ()
    hosts: tuple[str, ...] = ()
    others: tuple[int, ...] = ()
    bootstrap: str = ""
    seconds: float = 60.0

    @property
    def nodes(self) -> tuple[int, ...]:
        return self.numbers

    @property
    def target(self) -> str:
        return ("broker " + ", ".join(map(str, self.numbers))) if self.numbers else "the nodes of the command"

    def apply(self, context: InjectionContext) -> None:
        self._must(context, "inject", self.inject)

    def verify(self, context: InjectionContext) -> Evidence:
        until = time.monotonic() + self.seconds
        while True:
            ran = self._run(context, "verify", self.proof, max(0.1, until - time.monotonic()))
            if ran.code == 0:
                facts: dict[str, object] = {"exit_code": 0, "printed": ran.text}
                return Evidence(True, f"verify: {ran.text or 'exit code 0'}", facts)
            if time.monotonic() + _AGAIN_SECONDS >= until:
                return Evidence(False, f"verify has not proved it: {ran.describe(self.seconds)}")
            time.sleep(_AGAIN_SECONDS)

    def undo(self, context: InjectionContext) -> None:
        self._must(context, "heal", self.heal_line)

    def healed(self, context: InjectionContext) -> Evidence:
        def missing() -> str | None:
            view = context.cluster.view((context.topic,))
            silent = [seen.broker for seen in view.views if not seen.answered]
            return f"{node_names(silent)} does not answer" if silent else None

        left = poll_within(_BACK_SECONDS, missing, _AGAIN_SECONDS)
        if left is not None:
            raise FaultError(
                "the cluster is not back after heal",
                where=self.target,
                expected=f"every broker answers within {_BACK_SECONDS:g} s of the heal line",
                found=left,
                next_step="heal the cluster by hand, and correct the line",
            )
        return Evidence(True, "heal ended with exit code 0, and every broker answers")

    def _must(self, context: InjectionContext, phase: str, line: str) -> None:
        ran = self._run(context, phase, line, self.seconds)
        if ran.code != 0:
            raise FaultError(
                f"the {phase} line of a command failed",
                where=line,
                expected=f"exit code 0 within {self.seconds:g} s",
                found=ran.describe(self.seconds),
                next_step="run it by hand; docs/faults/command.md names its environment variables",
            )

    def _run(self, context: InjectionContext, phase: str, line: str, seconds: float) -> CommandResult:
        variables = {
            "KAFKA_CHAOS_PHASE": phase,
            "KAFKA_CHAOS_FAULT": context.tag,
            "KAFKA_CHAOS_TOPIC": context.topic,
            "KAFKA_CHAOS_BOOTSTRAP": self.bootstrap,
            "KAFKA_CHAOS_TARGET": str(self.numbers[0]) if self.numbers else "",
            "KAFKA_CHAOS_TARGETS": " ".join(map(str, self.numbers)),
            "KAFKA_CHAOS_OTHERS": " ".join(map(str, self.others)),
            "KAFKA_CHAOS_HOST": self.hosts[0] if self.hosts else "",
            "KAFKA_CHAOS_HOSTS": " ".join(self.hosts),
        }
        return run_line(line, variables, seconds)


class Command(FaultSpec):
    """Run your own shell lines: for faults on machines, virtual or not, that only you can reach.

    `inject`, `verify` and `heal` are lines for `sh -c` on the harness's machine, in the folder where it was
    started. Their environment variables are: KAFKA_CHAOS_TARGET, the id of the broker that `target` means at
    that time (KAFKA_CHAOS_TARGETS, all of them, separated by blanks; KAFKA_CHAOS_OTHERS, those of `other`);
    KAFKA_CHAOS_HOST and KAFKA_CHAOS_HOSTS, their advertised host:port; KAFKA_CHAOS_BOOTSTRAP;
    KAFKA_CHAOS_TOPIC; and KAFKA_CHAOS_FAULT, a name of this injection, the same in all three.

    `inject` must end with exit code 0; any other code, or a timeout, fails the run, and `heal` is run all the
    same. `heal` must undo what was injected, even if it was injected only in part or not at all, and it must
    be harmless when it is run again. It is run however the run ends, also after Ctrl-C; after a SIGKILL of
    the harness `kafka-chaos heal` runs it. A line that takes longer than `seconds` is killed with its whole
    process group.

    The lines are stored in the run's journal: pass secrets in the environment, not in a line.

    Proof: `verify` is run repeatedly until it ends with exit code 0, for at most `seconds`. If it does not,
    the fault is not proved and the run's verdict is `unknown`. The fault is healed when `heal` has ended with
    exit code 0 and every broker answers again.
    """

    kind: Literal["command"] = "command"
    external = "requests"
    injection = Commanded
    leaves = {"whatever its `heal` line does not undo": ()}

    inject: str = Field(min_length=1, description="shell line that injects the fault; exit code 0: done")
    verify: str = Field(min_length=1, description="shell line whose exit code 0 proves it")
    heal: str = Field(min_length=1, description="shell line that undoes the fault, harmless when repeated")
    target: Target | None = Field(default=None, description="brokers whose ids the lines get")
    other: Target | None = Field(default=None, description="the other side, if the fault has two")
    seconds: float = Field(default=60.0, gt=0, le=3600, description="time limit of each line, in seconds")
    stops: bool = Field(
        default=False, description="whether the target's brokers do not serve while it is open"
    )

    def warnings(self, shape: ClusterShape) -> tuple[str, ...]:
        super().warnings(shape)
        for target in self.targets():
            if target.may_include_client():
                raise ValueError(f"target `{target}`: the lines run where the clients are; leave it out")
        return ()

    def max_brokers_down(self, shape: ClusterShape) -> int:
        return self.target.max_brokers(shape) if self.target is not None and self.stops else 0

    def aim(self, context: InjectionContext) -> Commanded:
        snapshot = context.snapshot() if self.targets() else None
        numbers, others = (
            () if target is None or snapshot is None else target.resolve(snapshot)
            for target in (self.target, self.other)
        )
        reached = [
            context.cluster.endpoint(number) for number in numbers if number in context.cluster.broker_ids
        ]
        return Commanded(
            **self.parameters(),
            proof=self.verify,
            heal_line=self.heal,
            numbers=numbers,
            others=others,
            hosts=tuple(f"{host}:{port}" for host, port in reached),
            bootstrap=context.cluster.bootstrap,
        )


def run_line(line: str, variables: Mapping[str, str], seconds: float) -> CommandResult:
    """Run a shell line with these additional environment variables, for at most this number of seconds."""
    process = subprocess.Popen(
        ["sh", "-c", line],
        env={**users_environment(), **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        # Ctrl-C is for the harness: it must not end a line that heals.
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=seconds)
        return CommandResult(process.returncode, _last_characters(output))
    except subprocess.TimeoutExpired:
        return CommandResult(None, _last_characters(_kill_group(process)))
    except BaseException:
        _kill_group(process)
        raise


def _kill_group(process: subprocess.Popen[bytes]) -> bytes:
    """Kill the line's whole process group; returns what it printed."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    try:
        # A process that left the group may keep the pipe open for ever.
        return process.communicate(timeout=_AGAIN_SECONDS)[0]
    except subprocess.TimeoutExpired:
        return b""


def _last_characters(output: bytes) -> str:
    return output.decode(errors="replace").strip()[-_KEPT:]
