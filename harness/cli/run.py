"""`kafka-chaos run` and `kafka-chaos check`."""

from __future__ import annotations

import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from harness.cli import audit
from harness.cli.audit import BrokerConfigOption, ProducerConfigOption, TopicConfigOption
from harness.cli.options import (
    JsonOption,
    ProfileOption,
    QuietOption,
    ResultsOption,
    SeedOption,
    console,
    interruptible,
    print_json,
    say,
)
from harness.model.errors import BadInput
from harness.model.secrets import this_command
from harness.model.storage import place

if TYPE_CHECKING:
    from harness.spec.experiment import Experiment

_out = console(100)  # An arm's name must not be folded in a CI log.
_err = Console(stderr=True)


class ReadWith(StrEnum):
    """What `check` takes the final read from."""

    JOURNAL = "journal"
    SPARK = "spark"


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
    from harness.cli.progress import show_progress
    from harness.report import timings as times
    from harness.report.html import write_report
    from harness.report.table import explanation, table
    from harness.run import executor
    from harness.run.replay import replayed
    from harness.spec.overrides import overridden

    named = audit.chosen(experiments or [], (producer_config, topic_config, broker_config), _err)
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
        chosen, seed, arm = replayed(chosen, replay, seed, arm)
    chosen_seed = int(time.time()) if seed is None else seed
    again = ("--seed", str(chosen_seed)) if seed is None else ()
    with interruptible(_err), show_progress(_err, quiet):
        done = executor.execute(
            chosen,
            executor.Options(
                results=results,
                seed=chosen_seed,
                arms=tuple(arm or ()),
                repeat=repeat,
                command=this_command(*again),
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
        print_json([result.model_dump(mode="json") for _, result in done])
    codes = [result.exit_code() for _, result in done]
    raise typer.Exit(1 if 1 in codes else max(codes))


def _pointed(
    chosen: list[Experiment], servers: str, client_config: Path | None, containers: str | None
) -> list[Experiment]:
    """The experiments on somebody else's cluster."""
    from harness.preflight.external_limits import pointed

    config = None if client_config is None else str(client_config.resolve())
    return pointed(chosen, servers, config, containers)


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
    from harness.check import options, recheck
    from harness.cli.progress import show_progress
    from harness.report.html import write_report
    from harness.report.table import explanation, table

    with interruptible(_err), show_progress(_err, quiet):
        where = place(folder)
        how = options.how(
            where,
            master=spark_master,
            settings=spark_conf or [],
            driver_memory=driver_memory,
            results=results,
            bootstrap=bootstrap,
            from_topic=read_with is ReadWith.SPARK,
        )
        result = recheck.recheck(where, how)
    # A report draws on the journals and is for people, so it is made beside local ones only.
    if isinstance(where, Path) and (where / recheck.RESULT_FILE).exists():
        write_report(result, where)
    if as_json:
        print_json(result.model_dump(mode="json"))
    else:
        _out.print(table(result))
        for one in result.arms:
            say(_out, explanation(one))
    raise typer.Exit(result.exit_code())


def add(app: typer.Typer) -> None:
    """Make both commands the application's."""
    app.command()(run)
    app.command()(check)
