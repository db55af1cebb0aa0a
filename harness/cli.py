"""The command line. Exit codes: 0 as promised, 1 a promise broken, 2 bad input, 3 the harness could not
do its work (or could not tell), 130 interrupted."""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer
from rich.console import Console

from harness import (
    cli_audit,
    cli_bugs,
    cli_claims,
    cli_explore,
    cli_foreign,
    cli_kubernetes,
    cli_matrix,
)
from harness.cli_audit import BrokerConfigOption, ProducerConfigOption, TopicConfigOption
from harness.cli_shared import JsonOption, ProfileOption, QuietOption, ResultsOption, SeedOption, console, say
from harness.model.errors import BadInput, KafkaChaosError
from harness.model.places import place
from harness.model.secrets import hidden, shown_command

if TYPE_CHECKING:
    from harness.experiment import Experiment

app = typer.Typer(
    name="kafka-chaos",
    help="Break real Kafka clusters on purpose, and account for every record.\n\n"
    "First time: `kafka-chaos doctor`, then `kafka-chaos run kill-leader`.\n\n"
    "Exit codes: 0 as promised, 1 a promise broken, 2 bad input, 3 the harness could not do its work.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
_out = console(100)  # An arm's name must not be folded in a CI log.
_err = Console(stderr=True)


class ReadWith(StrEnum):
    """What `check` takes the final read from."""

    JOURNAL = "journal"
    SPARK = "spark"


def main() -> NoReturn:
    """Entry point of the `kafka-chaos` command."""
    # A polite kill ends like Ctrl-C: faults healed, journals closed, containers removed.
    signal.signal(signal.SIGTERM, _terminate)
    try:
        app(prog_name="kafka-chaos")
    except KafkaChaosError as error:
        told = hidden("\n".join([f"kafka-chaos: {error}", *getattr(error, "__notes__", ())]))
        _err.print(told, style="red", markup=False, highlight=False, soft_wrap=True)
        sys.exit(error.exit_code)
    sys.exit(0)


def _terminate(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
    raise KeyboardInterrupt


@contextmanager
def _interruptible() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        _err.print("kafka-chaos: interrupted; journals are kept, `kafka-chaos check` reads them")
        raise typer.Exit(130) from None


@app.command()
def run(
    experiments: Annotated[
        list[str] | None, typer.Argument(help="Built-in experiments (see `experiments`) or YAML files.")
    ] = None,
    arm: Annotated[list[str] | None, typer.Option(help="Only this arm; may be given again.")] = None,
    repeat: Annotated[int, typer.Option(min=1, max=10000, help="Run every arm this often.")] = 1,
    seed: SeedOption = None,
    results: ResultsOption = Path("results"),
    kafka_version: Annotated[str | None, typer.Option(help="Kafka version, for all experiments.")] = None,
    image: Annotated[str | None, typer.Option(help="Broker image, for all experiments.")] = None,
    profile: ProfileOption = None,
    replay: Annotated[
        Path | None, typer.Option(help="Repeat the faults of this run (a folder below results/).")
    ] = None,
    bootstrap_servers: Annotated[
        str | None, typer.Option(help="host:port of a cluster that is not ours: run against that one.")
    ] = None,
    client_config: Annotated[
        Path | None, typer.Option(help="Properties file that says how to get in there (TLS, SASL).")
    ] = None,
    containers: Annotated[
        str | None, typer.Option(help="Label of that cluster's containers, for faults on them.")
    ] = None,
    i_own_these_containers: Annotated[
        bool, typer.Option("--i-own-these-containers", help="Faults may hurt the containers so labelled.")
    ] = False,
    producer_config: ProducerConfigOption = None,
    topic_config: TopicConfigOption = None,
    broker_config: BrokerConfigOption = None,
    timings: Annotated[bool, typer.Option("--timings", help="Also say where the time went.")] = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Run experiments on real brokers, check what was written, and judge.

    Ends with a table and a report.html in each experiment's folder. Exit code 1 means that some arm did
    not do what its experiment promises; 3, that it could not be told.

    With --producer-config, --topic-config or --broker-config a configuration of your own (Java's names or
    librdkafka's) goes through the experiment, by default through `standard`: the standard faults.

    With --bootstrap-servers all of it happens on a cluster that somebody else runs:
    docs/how-to/own-cluster.md.
    """
    from harness import execution, replaying
    from harness import timings as times
    from harness.overrides import overridden
    from harness.report import write_report
    from harness.table import explanation, table
    from harness.telling import progress

    named = cli_audit.chosen(experiments or [], (producer_config, topic_config, broker_config), _err)
    chosen = [overridden(experiment, kafka_version, image, profile) for experiment in named]
    if bootstrap_servers is not None:
        chosen = _pointed(chosen, bootstrap_servers, client_config, containers)
    elif client_config is not None or containers is not None:
        raise BadInput(
            "whose cluster?",
            expected="--bootstrap-servers beside --client-config and --containers",
            next_step="name the cluster, or leave them out",
        )
    if replay is not None:
        chosen, seed, arm = replaying.replayed(chosen, replay, seed, arm)
    chosen_seed = int(time.time()) if seed is None else seed
    again = [*sys.argv[1:], *(["--seed", str(chosen_seed)] if seed is None else [])]
    with _interruptible(), progress(_err, quiet) as tell:
        done = execution.execute(
            chosen,
            execution.Options(
                results=results,
                seed=chosen_seed,
                arms=tuple(arm or ()),
                repeat=repeat,
                tell=tell,
                command=shown_command(["kafka-chaos", *again]),
                owned_containers=i_own_these_containers,
            ),
        )
    for folder, result in done:
        write_report(result, folder)
        if not as_json:
            _out.print(table(result))
            for one in result.arms:
                say(_out, explanation(one))
            if timings:
                _out.print(times.table(result))
            say(_out, f"report: {folder / 'report.html'}\n")
    if as_json:
        _print_json([result.model_dump(mode="json") for _, result in done])
    codes = [result.exit_code() for _, result in done]
    raise typer.Exit(1 if 1 in codes else max(codes))


def _pointed(
    chosen: list[Experiment], servers: str, client_config: Path | None, containers: str | None
) -> list[Experiment]:
    """The experiments on somebody else's cluster."""
    from harness.existing_limits import pointed

    config = None if client_config is None else str(client_config.resolve())
    return pointed(chosen, servers, config, containers)


@app.command()
def plan(
    experiment: Annotated[str, typer.Argument(help="A built-in experiment or a YAML file.")],
    seed: SeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tell what an experiment will do and when, without a cluster.

    `run` with the same --seed does just that. Conditions and targets are told in words.
    """
    from harness import loading, planning

    told = planning.plan_of(loading.load(experiment), int(time.time()) if seed is None else seed)
    if as_json:
        _print_json(asdict(told))
        return
    for line in planning.lines(told):
        say(_out, line)


@app.command()
def check(
    folder: Annotated[
        str, typer.Argument(help="A run's folder, or an experiment's with all its arms: a path or a URL.")
    ],
    spark_master: Annotated[
        str, typer.Option(help="Where Spark runs: local[N], spark://host:port, sc://host:port, yarn, ...")
    ] = "local[*]",
    spark_conf: Annotated[
        list[str] | None, typer.Option(help="A setting of Spark's, spark.name=value; may be given again.")
    ] = None,
    driver_memory: Annotated[str, typer.Option(help="Heap of Spark's JVM here.")] = "4g",
    results: Annotated[
        str | None, typer.Option(help="Folder or URL for findings; default: the run's own folder.")
    ] = None,
    read_with: Annotated[
        ReadWith, typer.Option(help="journal: what the run read; spark: the topic, by Spark's executors.")
    ] = ReadWith.JOURNAL,
    bootstrap: Annotated[
        str | None, typer.Option(help="host:port of the brokers, for --read-with spark.")
    ] = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Check saved journals again: no Docker and no broker needed.

    On a cluster, from and to object stores, or from the topic itself: docs/scale.md. Exit codes are those of
    `run`.
    """
    from harness import rechecking, scaling
    from harness.report import write_report
    from harness.table import explanation, table
    from harness.telling import progress

    with _interruptible(), progress(_err, quiet) as tell:
        where = place(folder)
        how = scaling.how(
            where,
            master=spark_master,
            settings=spark_conf or [],
            driver_memory=driver_memory,
            results=results,
            bootstrap=bootstrap,
            from_topic=read_with is ReadWith.SPARK,
            tell=tell,
        )
        result = rechecking.recheck(where, tell, how)
    # A report draws on the journals and is for people, so it is made beside local ones only.
    if isinstance(where, Path) and (where / rechecking.RESULT_FILE).exists():
        write_report(result, where)
    if as_json:
        _print_json(result.model_dump(mode="json"))
    else:
        _out.print(table(result))
        for one in result.arms:
            say(_out, explanation(one))
    raise typer.Exit(result.exit_code())


@app.command()
def doctor(as_json: JsonOption = False) -> None:
    """Tell what this machine has of what is needed, and what its kernel can and cannot do."""
    from harness import doctor as examination

    raise typer.Exit(examination.report(examination.examine(), as_json=as_json, console=_out))


@app.command()
def experiments(as_json: JsonOption = False) -> None:
    """List the built-in experiments."""
    from harness.loading import EXPERIMENT

    found = [EXPERIMENT.builtin(name)[0] for name in EXPERIMENT.builtin_names()]
    if as_json:
        _print_json([experiment.model_dump(mode="json", by_alias=True) for experiment in found])
        return
    for experiment in found:
        arms = ", ".join(one.name for one in experiment.arms)
        _out.print(f"[bold]{experiment.name}[/bold]: {experiment.title}\n  arms: {arms}", highlight=False)


@app.command()
def faults(
    kind: Annotated[str | None, typer.Argument(help="One fault, to read all about it.")] = None,
    as_json: JsonOption = False,
) -> None:
    """List the faults with their parameters, and what is possible on this machine."""
    from harness import faultlist

    if kind is not None and not as_json:
        say(_out, faultlist.page(kind))
        return
    rows = faultlist.listed(faultlist.capabilities(), kind)
    if as_json:
        _print_json(rows)
    else:
        _out.print(faultlist.table(rows))


@app.command()
def findings(as_json: JsonOption = False) -> None:
    """List the classes of findings: what each is, and whether it breaks the verdict."""
    from harness import findinglist

    rows = findinglist.listed()
    if as_json:
        _print_json(rows)
    else:
        _out.print(findinglist.table(rows))


@app.command()
def heal(
    cluster: Annotated[
        str | None, typer.Argument(help="This cluster (kc-...), whether its harness runs or not.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Also clusters of a harness that still runs.")
    ] = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Heal the faults that a killed harness left open on clusters of this machine that still run.

    Harmless where nothing is open. Exit code 3 when something could not be healed.
    """
    from harness import engine, healing
    from harness.telling import progress

    with _interruptible(), progress(_err, quiet) as tell:
        client = engine.connect_if_there()
        done = healing.heal_recorded(client, cluster=cluster, everything=everything, tell=tell)
    if as_json:
        _print_json([asdict(one) | {"clean": one.clean} for one in done])
    else:
        for line in healing.told(done):
            say(_out, line)
    raise typer.Exit(0 if all(one.clean for one in done) else 3)


@app.command()
def init(
    path: Annotated[Path, typer.Argument(help="The file to write.")] = Path("experiment.yaml"),
) -> None:
    """Write a commented example of an experiment file."""
    from importlib import resources

    if path.exists():
        raise BadInput(
            "the file exists already",
            where=str(path),
            next_step="name another file: `kafka-chaos init my.yaml`",
        )
    text = (resources.files("harness") / "templates" / "experiment.yaml").read_text()
    try:
        path.write_text(text)
    except OSError as error:
        raise BadInput("the file cannot be written", where=str(path), found=str(error)) from error
    _out.print(f"wrote {path}; run it with: kafka-chaos run {path}", markup=False, highlight=False)


@app.command()
def schema() -> None:
    """Print the JSON schema of experiment files."""
    from harness.loading import EXPERIMENT

    typer.echo(EXPERIMENT.schema_text(), nl=False)


@app.command()
def clean(
    everything: Annotated[
        bool, typer.Option("--all", help="Also what a harness that still runs is using.")
    ] = False,
) -> None:
    """Remove containers, networks and volumes that a killed harness left behind (by our label only)."""
    from harness import engine, records

    client = engine.connect()
    swept = engine.sweep(client, everything=everything)
    records.prune(client)
    _out.print(
        f"removed {swept.containers} container(s), {swept.networks} network(s), {swept.volumes} volume(s)",
        highlight=False,
    )


@app.command()
def compose(
    write: Annotated[bool, typer.Option("--write", help="Write the files that have drifted.")] = False,
) -> None:
    """Compose files of the same clusters, for use by hand: list them, or write them anew."""
    from harness import compose_files

    if write:
        changed = compose_files.write_all()
        _out.print(f"written: {', '.join(changed) or 'nothing, all are up to date'}", highlight=False)
        return
    drifted = compose_files.drifted()
    for name in compose_files.VARIANTS:
        state = "drifted" if name in drifted else "up to date"
        _out.print(f"{compose_files.folder() / name}: {state}", highlight=False, soft_wrap=True)
    raise typer.Exit(1 if drifted else 0)


def _print_json(value: object) -> None:
    typer.echo(json.dumps(value, indent=2))


cli_claims.add(app)
cli_bugs.add(app)
cli_foreign.add(app)
cli_audit.add(app)
cli_matrix.add(app)
cli_kubernetes.add(app)
cli_explore.add(app)

if __name__ == "__main__":
    main()
