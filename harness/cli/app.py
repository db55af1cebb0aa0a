"""The command line. Exit codes: 0 as promised, 1 a promise was broken, 2 bad input, 3 the harness could not
do its work (or the verdict is unknown), 130 interrupted."""

from __future__ import annotations

import errno
import importlib.metadata
import platform
import signal
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from typing import Annotated, NoReturn

import typer

from harness.cli import audit, explore, images, interop, matrix, nightly, run, sql, suites
from harness.cli.commands import Group, add_command, complete_experiment, complete_fault
from harness.cli.example_files import write_example
from harness.cli.options import (
    ERRORS,
    JsonOption,
    QuietOption,
    SeedOption,
    console,
    interruptible,
    print_json,
    print_text,
    seed_or_now,
)
from harness.model.errors import KafkaChaosError
from harness.model.secrets import redact

app = typer.Typer(
    name="kafka-chaos",
    help="Break real Kafka clusters on purpose, and account for every record.\n\n"
    "To begin: `kafka-chaos doctor`, then `kafka-chaos run cut-then-kill`.\n\n"
    "Exit codes: 0 as promised, 1 a promise was broken, 2 bad input, 3 the harness could not do its work.",
    no_args_is_help=True,
    cls=Group,
    pretty_exceptions_enable=False,
)
_out = console(100)  # An arm's name must not be folded in a CI log.
_PARTS = ("kafka-chaos", "pyspark", "pysail", "confluent-kafka")


def _print_versions(wanted: bool) -> None:
    if wanted:
        own, *others = (f"{name} {importlib.metadata.version(name)}" for name in _PARTS)
        typer.echo("\n".join((own, f"Python {platform.python_version()}", *others)))
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool,
        typer.Option(
            "--version",
            is_eager=True,
            callback=_print_versions,
            help="Print the versions of kafka-chaos, Python, PySpark, Sail and the Kafka client.",
        ),
    ] = False,
) -> None:
    pass


def main() -> NoReturn:
    """Entry point of the `kafka-chaos` command."""
    # SIGTERM ends it like Ctrl-C: faults are healed, journals closed, containers removed.
    signal.signal(signal.SIGTERM, _terminate)
    try:
        _run()
    except KafkaChaosError as error:
        message = redact("\n".join([f"kafka-chaos: {error}", *getattr(error, "__notes__", ())]))
        ERRORS.print(message, style="red", markup=False, highlight=False, soft_wrap=True)
        sys.exit(error.exit_code)
    sys.exit(0)


def _run() -> None:
    """Run the command. A container engine that stops meanwhile is reported like one that is missing, and a
    full disk by one message wherever something is written."""
    try:
        app(prog_name="kafka-chaos")
    except Exception as error:
        # By name, because the engine's client is slow to import.
        if type(error).__module__.split(".")[0] in ("docker", "requests", "urllib3"):
            from harness.containers import engine

            raise engine.connection_lost(error) from error
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise KafkaChaosError(
                "the disk is full",
                where=None if error.filename is None else str(error.filename),
                expected="free space",
                found=error.strerror,
                next_step="free space, then run the command again; what was written before stays",
            ) from error
        raise


def _terminate(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
    raise KeyboardInterrupt


def plan(
    experiment: Annotated[
        str,
        typer.Argument(help="A built-in experiment or a YAML file.", autocompletion=complete_experiment),
    ],
    seed: SeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what an experiment will do and when, without a cluster.

    `run` with the same --seed does exactly that. Conditions and targets are described in words.
    """
    from harness.spec import experiment_files, run_plan

    planned = run_plan.plan_of(experiment_files.load(experiment), seed_or_now(seed))
    if as_json:
        print_json(asdict(planned))
        return
    for line in run_plan.lines(planned):
        print_text(_out, line)


def doctor(as_json: JsonOption = False) -> None:
    """Check whether this machine has what is needed, and which faults its kernel allows."""
    from harness.preflight import doctor as examination

    raise typer.Exit(examination.report(examination.examine(), as_json=as_json, console=_out))


def experiments(as_json: JsonOption = False) -> None:
    """List the built-in experiments."""
    from harness.spec.experiment_files import EXPERIMENT

    found = [EXPERIMENT.builtin(name)[0] for name in EXPERIMENT.builtin_names()]
    if as_json:
        print_json([experiment.model_dump(mode="json", by_alias=True) for experiment in found])
        return
    for experiment in found:
        arms = ", ".join(one.name for one in experiment.arms)
        _out.print(f"[bold]{experiment.name}[/bold]: {experiment.title}\n  arms: {arms}", highlight=False)


def faults(
    kind: Annotated[
        str | None,
        typer.Argument(help="A fault, to print its full description.", autocompletion=complete_fault),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the faults with their parameters, and whether each is possible on this machine."""
    from harness.listings import faults
    from harness.page.terminal import print_table
    from harness.preflight import kernel_probes

    if kind is not None and not as_json:
        print_text(_out, faults.page(kind))
        return
    rows = faults.fault_rows(kernel_probes.kernel_capabilities(), kind)
    if as_json:
        print_json(rows)
    else:
        print_table(_out, faults.table(rows))


def findings(as_json: JsonOption = False) -> None:
    """List the classes of findings: what each is, and whether it breaks the verdict."""
    from harness.listings import findings
    from harness.page.terminal import print_table

    rows = findings.finding_rows()
    if as_json:
        print_json(rows)
    else:
        print_table(_out, findings.table(rows))


def heal(
    cluster: Annotated[
        str | None, typer.Argument(help="Heal only this cluster (kc-...), even if its harness still runs.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Include clusters whose harness still runs.")
    ] = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Heal the faults that a killed harness left on running clusters of this machine.

    Does nothing where no fault is left. Exit code 3: something could not be healed.
    """
    from harness.cli.progress import show_progress
    from harness.containers import engine
    from harness.run.faults import healing

    with interruptible("`kafka-chaos heal` goes on where it stopped"), show_progress(ERRORS, quiet):
        client = engine.connect_if_there()
        done = healing.heal_recorded(client, cluster=cluster, everything=everything)
    if as_json:
        print_json([asdict(one) | {"clean": one.clean} for one in done])
    else:
        for line in healing.summary_lines(done):
            print_text(_out, line)
    raise typer.Exit(0 if all(one.clean for one in done) else 3)


def init(
    path: Annotated[Path, typer.Argument(help="The file to write.")] = Path("experiment.yaml"),
) -> None:
    """Write a commented example of an experiment file."""
    write_example(path, "harness.spec", "kafka-chaos run")


def schema() -> None:
    """Print the JSON schema of experiment files."""
    from harness.spec.experiment_files import EXPERIMENT

    typer.echo(EXPERIMENT.schema_text(), nl=False)


def clean(
    everything: Annotated[
        bool, typer.Option("--all", help="Include what a running harness is using.")
    ] = False,
) -> None:
    """Remove containers, networks and volumes that a killed harness left behind (found by our label), and end
    its processes."""
    from harness.application.orphans import end_orphans
    from harness.check_jobs.engines import sweep_engines
    from harness.cluster import state_records
    from harness.containers import engine

    processes = end_orphans(everything=everything)
    servers = sweep_engines(everything=everything)
    client = engine.connect()
    swept = engine.sweep(client, everything=everything)
    state_records.prune(client)
    _out.print(
        f"removed {swept.containers} container(s), {swept.networks} network(s), {swept.volumes} volume(s)"
        + (f", and ended {processes} process(es) of applications" if processes else "")
        + (f", and ended {servers} process(es) of engines" if servers else ""),
        highlight=False,
    )


def compose(
    write: Annotated[bool, typer.Option("--write", help="Rewrite the files that are out of date.")] = False,
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


_FUNCTIONS: dict[str, Callable[..., None]] = {
    "run": run.run,
    "plan": plan,
    "init": init,
    "matrix": matrix.matrix,
    "explore": explore.explore,
    "nightly": nightly.nightly,
    "check": run.check,
    "sql": sql.sql,
    "audit": audit.audit_settings,
    "compare": matrix.compare,
    "rates": matrix.rates,
    "claims": suites.claims,
    "bugs": suites.bugs,
    "experiments": experiments,
    "faults": faults,
    "findings": findings,
    "schema": schema,
    "import": interop.import_run,
    "import-sends": interop.import_sends,
    "export": interop.export_run,
    "chaos-mesh": interop.chaos_mesh,
    "doctor": doctor,
    "heal": heal,
    "clean": clean,
    "compose": compose,
    "images": images.images,
}
for command, function in _FUNCTIONS.items():
    add_command(app, command, function)

if __name__ == "__main__":
    main()
