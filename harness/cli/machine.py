"""Commands about this machine: what it has, what a killed harness left on it, images and Compose files."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from harness.cli.options import (
    ERRORS,
    JsonOption,
    QuietOption,
    console,
    print_json,
    print_text,
    working,
)
from harness.model.defaults import DEFAULT_VERSION

_out = console(100)


def doctor(as_json: JsonOption = False) -> None:
    """Check whether this machine has what is needed, and which faults its kernel allows."""
    from harness.lab.clients.participants import toolchains
    from harness.run.preflight import doctor as examination

    found = (*examination.examine(), toolchains())
    raise typer.Exit(examination.report(found, as_json=as_json, console=_out))


def heal(
    cluster: Annotated[
        str | None, Argument(help="Heal only this cluster (kc-...), even if its harness still runs.")
    ] = None,
    everything: Annotated[bool, Option("--all", help="Include clusters whose harness still runs.")] = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Heal the faults that a killed harness left on running clusters of this machine.

    Does nothing where no fault is left. Exit code 3: something could not be healed.
    """
    from harness.cluster.containers import docker_engine
    from harness.run.faults import healing

    with working(quiet, "`kafka-chaos heal` goes on where it stopped"):
        client = docker_engine.connect_if_there()
        done = healing.heal_recorded(client, cluster=cluster, everything=everything)
    if as_json:
        print_json([asdict(healed) | {"clean": healed.clean} for healed in done])
    else:
        print_text(_out, *healing.summary_lines(done))
    raise typer.Exit(0 if all(healed.clean for healed in done) else 3)


def clean(
    everything: Annotated[bool, Option("--all", help="Include what a running harness is using.")] = False,
) -> None:
    """Remove containers, networks and volumes that a killed harness left behind (found by our label), and end
    its processes. What belongs to a cluster stays as long as a harness uses the cluster."""
    from harness.check_jobs.engines import sweep_engines
    from harness.cluster import state_records
    from harness.cluster.containers import docker_engine
    from harness.model.host.orphans import end_orphans

    processes = end_orphans(everything=everything)
    servers = sweep_engines(everything=everything)
    client = docker_engine.connect()
    swept = docker_engine.sweep(client, everything=everything, recorded=state_records.owners())
    state_records.prune(client)
    _out.print(
        f"removed {swept.containers} container(s), {swept.networks} network(s), {swept.volumes} volume(s)"
        + (f", and ended {processes} process(es) of applications" if processes else "")
        + (f", and ended {servers} process(es) of engines" if servers else ""),
        highlight=False,
    )
    print_text(ERRORS, *(f"not removed: {left}" for left in swept.left))


def compose(
    write: Annotated[bool, Option("--write", help="Rewrite the files that are out of date.")] = False,
) -> None:
    """List or rewrite the Docker Compose files of the same clusters, for manual use."""
    from compose import FOLDER
    from harness.cluster import compose_files

    if write:
        changed = compose_files.write_all()
        _out.print(f"written: {', '.join(changed) or 'nothing, all are up to date'}", highlight=False)
        return
    drifted = compose_files.drifted()
    for name in compose_files.VARIANTS:
        state = "drifted" if name in drifted else "up to date"
        _out.print(f"{FOLDER / name}: {state}", highlight=False, soft_wrap=True)
    raise typer.Exit(1 if drifted else 0)


def images(
    version: Annotated[str, Option(help="Kafka version.")] = DEFAULT_VERSION,
    image: Annotated[str | None, Option(help="Use this image and no other.")] = None,
    keep: Annotated[
        Path | None,
        Option(help="Load from this folder what is missing here, and write to it what it lacks."),
    ] = None,
) -> None:
    """Pull or build the Kafka image and the sidecar image if they are not on this machine.

    The first run does so, too. A CI system whose jobs begin on an engine without images keeps the folder of
    `--keep` between them.
    """
    from harness.cluster.containers.images import prepare

    prepare(version, image, keep)
