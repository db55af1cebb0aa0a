"""The command line. Exit codes: 0 as promised, 1 a promise was broken, 2 bad input, 3 the harness could not
do its work (or the verdict is unknown), 130 interrupted."""

from __future__ import annotations

import errno
import faulthandler
import importlib.metadata
import platform
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer import Argument, Option
from typer.core import TyperCommand, TyperGroup

from harness.cli import (
    audit,
    clients,
    configs,
    ids,
    init,
    interop,
    machine,
    many_runs,
    own,
    run,
    saved_runs,
    suites,
)
from harness.cli.options import (
    ERRORS,
    ExperimentArgument,
    JsonOption,
    SeedOption,
    complete_experiment,
    complete_fault,
    console,
    print_json,
    print_text,
    seed_or_now,
    write_new,
)
from harness.model.errors import BadInput, KafkaChaosError
from harness.model.secrets import redact


class CliCommand(TyperCommand):
    """A command whose help shows no type beside an option that takes no value."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _without_types_of_flags(super().get_params(ctx))


class Group(TyperGroup):
    """All commands; options as in `CliCommand`."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _without_types_of_flags(super().get_params(ctx))


def _without_types_of_flags(parameters: list[Any]) -> list[Any]:
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
    return parameters


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
        Option(
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
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    # A crash inside a Kafka client would end the command without a word.
    with suppress(OSError, RuntimeError):  # stderr is no file, or there is none
        faulthandler.enable(all_threads=False)
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
            from harness.cluster.containers import docker_engine

            raise docker_engine.connection_lost(error) from error
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise KafkaChaosError(
                "the disk is full",
                where=None if error.filename is None else str(error.filename),
                expected="free space",
                found=error.strerror,
                next_step="free space, then run the command again; what was written before stays",
            ) from error
        raise


def plan(experiment: ExperimentArgument, seed: SeedOption = None, as_json: JsonOption = False) -> None:
    """Show what an experiment will do and when, without a cluster.

    `run` with the same --seed does exactly that. Conditions and targets are described in words.
    """
    from harness.spec import experiment_files, run_plan

    planned = run_plan.plan_of(experiment_files.load(experiment), seed_or_now(seed))
    if as_json:
        print_json(asdict(planned))
        return
    print_text(_out, *run_plan.lines(planned))


def experiments(
    show: Annotated[
        str | None,
        Option(help="Print the file of this built-in experiment.", autocompletion=complete_experiment),
    ] = None,
    save: Annotated[
        Path | None, Option(help="With --show: write the file here instead, to start your own.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the built-in experiments, or give the file of one: every step, fault and setting of it."""
    from harness.spec.experiment_files import EXPERIMENT

    if save is not None:
        if show is None:
            raise BadInput("--save needs the name of an experiment", next_step="add --show NAME")
        path = save / f"{show}.yaml" if save.is_dir() else save
        write_new(path, EXPERIMENT.builtin_text(show), "kafka-chaos run")
        return
    if show is not None and not as_json:
        typer.echo(EXPERIMENT.builtin_text(show), nl=False)
        return
    names = EXPERIMENT.builtin_names() if show is None else (show,)
    chosen = [EXPERIMENT.builtin(name)[0] for name in names]
    if as_json:
        print_json([experiment.model_dump(mode="json", by_alias=True) for experiment in chosen])
        return
    for experiment in chosen:
        arms = ", ".join(arm.name for arm in experiment.arms)
        _out.print(f"[bold]{experiment.name}[/bold]: {experiment.title}\n  arms: {arms}", highlight=False)


def faults(
    kind: Annotated[
        str | None, Argument(help="A fault, to print its full description.", autocompletion=complete_fault)
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the faults with their parameters, and whether each is possible on this machine."""
    from harness.cli.listings import faults
    from harness.report.page.terminal import print_table
    from harness.run.preflight import kernel_probes

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
    from harness.cli.listings import findings
    from harness.report.page.terminal import print_table

    rows = findings.finding_rows()
    if as_json:
        print_json(rows)
    else:
        print_table(_out, findings.table(rows))


def schema() -> None:
    """Print the JSON schema of experiment files."""
    from harness.spec.experiment_files import EXPERIMENT

    typer.echo(EXPERIMENT.schema_text(), nl=False)


_GROUPS: dict[str, dict[str, tuple[Callable[..., None], str]]] = {
    "Run": {
        "run": (run.run, "cut-then-kill"),
        "plan": (plan, "storm --seed 7"),
        "init": (init.init, "my.yaml"),
        "matrix": (many_runs.matrix, "acks-idempotence --repeat 5 --dry-run"),
        "compare-configs": (configs.compare_configs, "a.properties b.properties --dry-run"),
        "clients": (clients.clients, "--client kafkajs --client franz-go --fault kill --repeat 3"),
        "explore": (many_runs.explore, "--budget 20m"),
        "nightly": (many_runs.nightly, "kill-leader --kafka-version 4.4.0 --kafka-version 3.9.2"),
    },
    "Analyse": {
        "check": (run.check, "results/kill-leader-20260101T000000000000Z"),
        "sql": (saved_runs.sql, 'results/mine/acks=1 "select outcome, count(*) from sends group by outcome"'),
        "audit": (audit.audit_settings, "producer.properties topic.properties --prove"),
        "compare": (saved_runs.compare, "results/acks-idempotence-1 results/acks-idempotence-2"),
        "rates": (saved_runs.rates, "results/ --by acks,faults"),
    },
    "Suites": {
        "claims": (suites.claims, "R12 mine.yaml --seed 7"),
        "bugs": (suites.bugs, "KIP-903"),
    },
    "Data": {
        "experiments": (experiments, "--show kill-leader --save mine.yaml"),
        "faults": (faults, "partition"),
        "findings": (findings, ""),
        "schema": (schema, "> schema.json"),
        "own": (own.own, "--language go"),
        "import": (interop.import_run, "results/mine --producer producer.jsonl --consumer consumer.jsonl"),
        "import-ids": (
            ids.import_ids,
            "--sent sent.csv --received received.csv --id order_id --complete",
        ),
        "import-sends": (interop.import_sends, "results/mine --journal sent --bootstrap-servers kafka:9092"),
        "export": (interop.export_run, "results/mine history.edn --to jepsen"),
    },
    "Machine": {
        "doctor": (machine.doctor, ""),
        "heal": (machine.heal, ""),
        "clean": (machine.clean, "--all"),
        "compose": (machine.compose, "--write"),
        "images": (machine.images, "--version 4.3.1 --keep images"),
    },
}
"""Every command in the order of `kafka-chaos --help`, by group and name, with an example of its arguments."""
EXAMPLES: dict[str, str] = {}
"""An example of each command, for its help."""
for group, commands in _GROUPS.items():
    for name, (function, arguments) in commands.items():
        EXAMPLES[name] = f"kafka-chaos {name} {arguments}".rstrip()
        app.command(
            name,
            cls=CliCommand,
            rich_help_panel=group,
            epilog=f"Example: {EXAMPLES[name]}",
        )(function)

if __name__ == "__main__":
    main()
