"""Single faults on a test's own cluster, verified and healed like those of experiments."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from faults.schedules.entries import WrittenFault
from faults.shared.fault_spec import FaultSpec, InjectionContext
from harness.cluster.containers import images
from harness.cluster.managed import ManagedCluster
from harness.model.config.yaml_problems import FileText, as_bad_input
from harness.model.errors import FaultError, PrerequisiteMissing
from harness.model.journal import FAULTS, FAULTS_FILE
from harness.pytest_plugin.messages import readable
from harness.pytest_plugin.settings import Missing
from harness.run.faults.ledger import FaultLedger
from harness.run.preflight import kernel_probes
from harness.run.preflight.feasibility import unmet_needs
from harness.spec.cluster import SESSION_SECONDS
from workloads.records.journal.row_journal import TableFile

_FAULT: TypeAdapter[Any] = TypeAdapter(WrittenFault)


@dataclass(frozen=True, slots=True)
class OpenedFault:
    """An open fault: `target` describes what it was aimed at, `evidence` how its effect was verified."""

    name: str
    target: str
    nodes: tuple[int, ...]
    evidence: str


def _fault_of(written: dict[str, Any]) -> FaultSpec:
    """A fault from a dict as in an experiment file."""
    try:
        fault: FaultSpec = _FAULT.validate_python(written)
        return fault
    except ValidationError as error:
        raise as_bad_input(
            error,
            FileText("the fault of the test", "fault", None, written, _FAULT.json_schema()),
            "`kafka-chaos faults` lists them, `kafka-chaos faults KIND` what one of them takes",
        ) from error


@contextmanager
def open_fault(
    cluster: ManagedCluster, written: dict[str, Any], topic: str, folder: Path, seed: int, missing: Missing
) -> Iterator[OpenedFault]:
    """Inject and verify a fault, yield, then heal it. One that is not valid or not possible here, has no
    visible effect, or cannot be healed ends the test."""
    __tracebackhide__ = True
    mark = secrets.token_hex(4)
    with TableFile(folder / mark / FAULTS_FILE, FAULTS) as events:

        def context(name: str) -> InjectionContext:
            return InjectionContext(
                cluster=cluster,
                topic=topic,
                session_seconds=SESSION_SECONDS[cluster.spec.profile],
                tag=f"kafka-chaos-{mark}-{name}",
                seed=f"{seed}/{name}",
            )

        ledger = FaultLedger(context, events, cluster.name)
        forget = cluster.on_start(ledger.restarted)
        try:
            with readable(missing):
                spec = _possible(cluster, _fault_of(written))
                fault = ledger.inject(spec)
                if not ledger.verify(fault):
                    raise FaultError(
                        "the fault was not seen to take effect", where=fault.name, found=fault.evidence
                    )
            yield OpenedFault(
                fault.name, fault.injection.target, tuple(fault.injection.nodes), fault.evidence
            )
        finally:
            failures = ledger.heal_all()
            forget()
            if failures:
                with readable(missing):
                    raise FaultError("a fault could not be healed", found="; ".join(failures))
        if not fault.verified:
            with readable(missing):
                raise FaultError("the fault had no effect", where=fault.name, found=fault.evidence)


def _possible(cluster: ManagedCluster, spec: FaultSpec) -> FaultSpec:
    """The fault, or the same by the cluster's proxies if the kernel lacks what it needs.

    Raises:
        PrerequisiteMissing: the kernel lacks it, and the proxies cannot cause it or there are none.
    """
    if not spec.required():
        return spec
    capabilities = kernel_probes.probe(cluster.client, images.toolbox(cluster.client))
    lacks = unmet_needs(spec.required(), capabilities)
    instead = spec.by_proxy() if lacks and cluster.spec.proxy else None
    if lacks and instead is None:
        raise PrerequisiteMissing(
            f"the fault {spec.name()!r} is not possible on this machine",
            expected=f"a kernel and an engine that have {', '.join(spec.required())}",
            found="; ".join(lacks),
            next_step="`kafka-chaos faults` lists what is possible here, and what with `proxy: true`",
        )
    return instead or spec
