"""Runs a comparison of clients: fault after fault, all clients side by side, as often as asked for."""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.cluster.running_cluster import ClusterHolder, running_cluster
from harness.lab.clients.client_run import client_run
from harness.lab.clients.comparison import ClientArm, Load, experiments_for
from harness.lab.clients.comparison_result import CLIENTS_FILE, ClientsResult
from harness.lab.clients.fault import ClientFault
from harness.many.run_store import RunStore
from harness.model.errors import KafkaChaosError
from harness.model.progress import report_progress
from harness.model.result import ExperimentResult
from harness.run.executor import Options, run_on, with_engine
from harness.spec.experiment import Experiment


def new_comparison(
    faults: Mapping[str, ClientFault],
    arms: Sequence[ClientArm],
    left_out: Mapping[str, str],
    options: Options,
) -> tuple[Path, ClientsResult]:
    """A new folder below the results, with a comparison that has no run yet.

    Raises:
        BadInput: it cannot be written.
    """
    titles = {name: fault.title for name, fault in faults.items()}
    result = ClientsResult.begun(titles, arms, left_out, options)
    store = RunStore[Any].created(options.results, "clients")
    store.write(CLIENTS_FILE, result)
    return store.folder, result


def compare_clients(
    faults: Mapping[str, ClientFault],
    arms: Sequence[ClientArm],
    load: Load,
    options: Options,
    begun: ClientsResult,
    folder: Path,
) -> ClientsResult:
    """Run each fault `options.repeat` times; returns what is also written as `clients.json` into the folder,
    after each part anew, so that an interruption keeps what is over.

    Raises:
        KafkaChaosError: as `execute`; parts that are over are kept.
        KeyboardInterrupt: passed on; the same holds.
    """
    began, result = time.monotonic(), begun
    store = RunStore[Any](folder)
    parts = [
        (name, experiment)
        for name, fault in faults.items()
        for experiment in experiments_for(name, fault, arms, load)
    ]
    with closing(carried_out(parts, replace(options, results=folder), "kafka-chaos clients")) as done_parts:
        for name, own, done in done_parts:
            runs = (client_run(name, arm, own, folder) for arm in done.arms)
            seconds = round(time.monotonic() - began, 1)
            result = result.model_copy(update={"runs": (*result.runs, *runs), "seconds": seconds})
            store.write(CLIENTS_FILE, result)
    return result


def carried_out(
    parts: Sequence[tuple[str, Experiment]], options: Options, command: str
) -> Generator[tuple[str, Path, ExperimentResult]]:
    """Run named experiments one after the other, those with equal cluster specs on one cluster; yields the
    name of each with its folder and its result. `command` prints what is over, with `--from`. To be closed:
    the cluster is removed then.

    Raises:
        KafkaChaosError: as `execute`.
    """
    specs = [experiment.cluster for _, experiment in parts]
    options = with_engine(options, [experiment for _, experiment in parts])
    with ClusterHolder(running_cluster) as clusters:
        in_turn = sorted(parts, key=lambda part: specs.index(part[1].cluster))
        for number, (name, experiment) in enumerate(in_turn, 1):
            report_progress(f"part {number} of {len(parts)}: {name}, {len(experiment.arms)} programs")
            try:
                cluster = clusters.get(experiment.cluster, options.results / "logs")
                own, done = run_on(cluster, experiment, options)
            except KafkaChaosError as error:
                error.add_note(f"what is over: {command} --from {options.results}")
                raise
            yield name, own, done
