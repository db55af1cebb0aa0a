"""`kafka-chaos run` and `kafka-chaos check`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Literal

import typer
from typer import Argument, Option

from harness.cli import audit
from harness.cli.audit import BrokerConfigOption, ProducerConfigOption, TopicConfigOption
from harness.cli.options import (
    ERRORS,
    ClientConfigOption,
    DriverMemoryOption,
    EngineOption,
    ExperimentsArgument,
    ImageOption,
    JsonOption,
    ProfileOption,
    QuietOption,
    ResultsOption,
    SeedOption,
    SparkConfOption,
    SparkMasterOption,
    VersionOption,
    console,
    kept,
    print_json,
    print_text,
    seed_and_command,
    working,
)
from harness.model.errors import BadInput
from harness.model.secrets import this_command

_out = console(100)  # An arm's name must not be folded in a CI log.


def run(
    experiments: ExperimentsArgument = None,
    arm: Annotated[list[str] | None, Option(help="Run only this arm; repeatable.")] = None,
    repeat: Annotated[int, Option(min=1, max=10000, help="Number of runs of every arm.")] = 1,
    seed: SeedOption = None,
    results: ResultsOption = Path("results"),
    kafka_version: VersionOption = None,
    image: ImageOption = None,
    profile: ProfileOption = None,
    replay: Annotated[
        Path | None, Option(help="Repeat the faults of this run (a folder below results/).")
    ] = None,
    bootstrap_servers: Annotated[
        str | None, Option(help="host:port of an existing cluster to run against.")
    ] = None,
    client_config: ClientConfigOption = None,
    containers: Annotated[
        str | None, Option(help="Label of that cluster's containers, for faults that act on them.")
    ] = None,
    i_own_these_containers: Annotated[
        bool, Option("--i-own-these-containers", help="Allow faults on the containers with that label.")
    ] = False,
    producer_config: ProducerConfigOption = None,
    topic_config: TopicConfigOption = None,
    broker_config: BrokerConfigOption = None,
    engine: EngineOption = "auto",
    timings: Annotated[bool, Option("--timings", help="Also print how long each phase took.")] = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Run experiments on real brokers, check what was written, and judge.

    An arm is one configuration of an experiment. Its promise is what the experiment file says that the arm
    does; without one, that it loses nothing. A control arm may promise a loss: it is then invalid, as
    expected, and shows that a loss is seen.

    Prints a table, and writes a report.html into each experiment's folder. Exit code 1: an arm broke the
    promise of its experiment; 3: for some arm this could not be decided.

    With --producer-config, --topic-config or --broker-config, the experiment runs with your own
    configuration (Java's or librdkafka's names); the default experiment is then `standard`, with the standard
    faults.

    With --bootstrap-servers, the experiment runs on an existing cluster: docs/how-to/own-cluster.md.
    """
    from checkers import EngineChoice
    from harness.cli.results import after_run, print_result, run_and_report
    from harness.report import timings as times
    from harness.report.arms_table import ARM_AND_PROMISE
    from harness.report.page.terminal import print_table
    from harness.run import executor
    from harness.run.preflight.feasibility import on_external_cluster
    from harness.run.replay import replay_run
    from harness.spec.overrides import ClusterOptions, overridden

    files = (producer_config, topic_config, broker_config)
    # Settings of brokers are for a cluster that is started here.
    elsewhere = bootstrap_servers is not None and broker_config is None
    named = audit.select_experiments(experiments or [], files, elsewhere=elsewhere)
    cluster = ClusterOptions(kafka_version, image, profile)
    chosen = [overridden(experiment, cluster) for experiment in named]
    if bootstrap_servers is not None:
        config = None if client_config is None else str(client_config.resolve())
        chosen = on_external_cluster(chosen, bootstrap_servers, config, containers)
    elif client_config is not None or containers is not None:
        raise BadInput(
            "--client-config and --containers need --bootstrap-servers",
            next_step="add --bootstrap-servers, or leave them out",
        )
    if replay is not None:
        chosen, seed, arm = replay_run(chosen, replay, seed, arm)
    chosen_seed, again = seed_and_command(seed)
    options = executor.Options(
        results=results,
        seed=chosen_seed,
        arms=tuple(arm or ()),
        repeat=repeat,
        command=again,
        owned_containers=i_own_these_containers,
        engine=EngineChoice(engine),
    )
    done = run_and_report(chosen, options, quiet)
    if as_json:
        print_json([result.model_dump(mode="json") for _, result in done])
    else:
        print_text(_out, f"{ARM_AND_PROMISE}\n")
        for folder, result in done:
            print_result(_out, result)
            if timings:
                print_table(_out, times.table(result))
            print_text(_out, f"report: {folder / 'report.html'}\n")
        own = any(given is not None for given in (*files, bootstrap_servers, kafka_version, image))
        command = this_command()
        print_text(_out, after_run(done, command, repeat=repeat, replayed=replay is not None, own=own))
    codes = [result.exit_code() for _, result in done]
    raise typer.Exit(1 if 1 in codes else max(codes))


def check(
    folder: Annotated[
        str, Argument(help="Folder of a run, or of an experiment with all its arms: a path or a URL.")
    ],
    engine: EngineOption = "auto",
    spark_master: SparkMasterOption = "local[*]",
    spark_conf: SparkConfOption = None,
    driver_memory: DriverMemoryOption = "4g",
    results: Annotated[
        str | None, Option(help="Folder or URL for the findings; default: the run's folder.")
    ] = None,
    read_with: Annotated[
        Literal["journal", "spark"],
        Option(help="journal: the final read of the run; spark: Spark reads the topic."),
    ] = "journal",
    bootstrap: Annotated[str | None, Option(help="host:port of the brokers, with --read-with spark.")] = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Check saved journals again; this needs neither Docker nor a broker.

    Runs of up to 200 million records are checked by Sail, an embedded engine that speaks PySpark; larger
    ones, and all if --spark-master or --spark-conf is given, by Apache Spark. The last line says which one
    counted.

    docs/how-to/scale.md explains how to check on a Spark cluster, with object stores, or from the topic
    itself. Exit codes are those of `run`.
    """
    from harness.check_jobs import recheck
    from harness.cli.results import print_result, refresh_index
    from harness.model.storage import storage_path
    from harness.report.arms_table import ARM_AND_PROMISE
    from harness.report.page.html import INDEX_FILE
    from harness.report.run_page import write_report

    with working(quiet, kept([shlex.join(["kafka-chaos", "check", folder])])):
        where = storage_path(folder)
        how = recheck.check_options(
            where,
            master=spark_master,
            settings=spark_conf or [],
            driver_memory=driver_memory,
            results=results,
            bootstrap=bootstrap,
            from_topic=read_with == "spark",
            engine=engine,
        )
        result = recheck.recheck(where, how)
    # The report is made from the journals, so it is written only where these are local files.
    if isinstance(where, Path) and (where / recheck.RESULT_FILE).exists():
        write_report(result, where)
        if (where.resolve().parent / INDEX_FILE).exists():
            refresh_index(where.resolve().parent)
    if as_json:
        print_json(result.model_dump(mode="json"))
    else:
        print_text(_out, f"{ARM_AND_PROMISE}\n")
        print_result(_out, result)
        engines = dict.fromkeys(arm.summary.engine for arm in result.arms if arm.summary)
        if counted := ", ".join(filter(None, engines)):
            print_text(_out, f"counted by {counted}")
    print_text(ERRORS, *(f"kafka-chaos: {sentence}" for sentence in recheck.not_checked(where, result)))
    raise typer.Exit(result.exit_code())
