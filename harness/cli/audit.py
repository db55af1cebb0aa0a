"""The command that audits a user's own configuration."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from typer import Argument, Option

from harness.cli.options import ERRORS, print_json, print_text, seed_or_now
from harness.model.defaults import DEFAULT_VERSION

if TYPE_CHECKING:
    from harness.model.result import ExperimentResult
    from harness.spec.experiment import Experiment
    from harness.tools.audit.audit_result import Audit


_CONFIG_HELP = "File with settings of your own {}, instead of the experiment's."
ProducerConfigOption = Annotated[Path | None, Option(help=_CONFIG_HELP.format("producer"))]
TopicConfigOption = Annotated[
    Path | None, Option(help=_CONFIG_HELP.format("topic (also partitions, replication.factor)"))
]
BrokerConfigOption = Annotated[Path | None, Option(help=_CONFIG_HELP.format("brokers"))]


def select_experiments(
    names: list[str],
    files: tuple[Path | None, Path | None, Path | None],
    *,
    elsewhere: bool = False,
) -> list[Experiment]:
    """The named experiments, with the user's configuration instead of their own. `elsewhere`: as for `load`.

    Raises:
        BadInput: none is named, one cannot be read, or the client refuses the configuration.
    """
    from harness.model.errors import BadInput
    from harness.spec.experiment_files import load
    from harness.tools.audit import user_config

    own = user_config.UserConfig(*files)
    if not names and not own:
        raise BadInput(
            "no experiment is named",
            expected="names of built-in experiments, YAML files, or a configuration of your own",
            next_step="`kafka-chaos experiments` lists the built-in experiments",
        )
    experiments = [load(name, elsewhere=elsewhere) for name in names or [user_config.STANDARD]]
    if not own:
        return experiments
    done = []
    for experiment in experiments:
        changed, left_out = user_config.with_user_config(experiment, own)
        print_text(ERRORS, *(f"not used: {line}" for line in left_out))
        done.append(changed)
    return done


def audit_settings(
    files: Annotated[
        list[Path], Argument(help="Files with settings of producers, consumers, topics or brokers.")
    ],
    client: Annotated[
        Literal[
            "auto",
            "java",
            "librdkafka",
            "kafkajs",
            "sarama",
            "franz-go",
            "kafka-go",
            "kafka-python",
            "aiokafka",
            "platformatic",
        ],
        Option(
            help="Client of a file whose format leaves it open; auto: java or librdkafka, by "
            "the names. All others have names of their own: docs/how-to/own-configuration.md."
        ),
    ] = "auto",
    kafka_version: Annotated[
        str | None,
        Option(
            help="Version of the brokers and of the Java client, from 2.8 on.",
            show_default=f"that of the brokers' image in the files, else {DEFAULT_VERSION}",
        ),
    ] = None,
    prove: Annotated[
        bool, Option("--prove", help="Run the experiments that show the findings, on real brokers.")
    ] = False,
    results: Annotated[Path, Option(help="Folder for the results of --prove.")] = Path("results"),
    seed: Annotated[int | None, Option(help="Seed of --prove; default: from the clock.")] = None,
    as_json: Annotated[bool, Option("--json", help="Print JSON for machines.")] = False,
) -> None:
    """Show what a configuration promises and where it contradicts itself. Needs no cluster.

    Several files are read as one configuration: some contradictions only show if producer, topic and brokers
    are read together. Properties, Spring Boot, Compose, Strimzi, Connect, logs of clients and other formats
    are read: docs/how-to/your-files.md. The first line says what a file was read as. Some rules, defaults,
    names and values are of some versions of Kafka only: a finding says of which. Secrets are masked.

    Exit codes: 0 no contradiction (there may be risks), 1 something is refused by the client,
    contradictory or misspelt, 2 a file that cannot be read, whose format is not read, or in which no name is
    Kafka's, 3 --prove could not do its work.
    """
    from harness.cli.results import after_audit
    from harness.model.secrets import this_command
    from harness.tools.audit import audit_text
    from harness.tools.audit.audit_files import audit_files
    from harness.tools.audit.config_reader import read_config
    from harness.tools.audit.known_settings import ClientLibrary

    library = None if client == "auto" else ClientLibrary(client)
    read = [read_config(file, library, kafka_version or DEFAULT_VERSION) for file in files]
    audited = audit_files(read, library, kafka_version)
    for line in () if as_json else audit_text.lines(audited):
        typer.echo(line)
    done = _run_proofs(audited, results, seed_or_now(seed), quiet=as_json) if prove else []
    if as_json:
        proofs = {"proofs": [result.model_dump(mode="json") for result in done]} if prove else {}
        print_json(audited.model_dump(mode="json") | proofs)
    elif (advice := after_audit(audited, this_command(), proved=prove)) is not None:
        typer.echo(f"\n{advice}")
    raise typer.Exit(3 if any(result.exit_code() == 3 for result in done) else audited.exit_code())


def _run_proofs(found: Audit, results: Path, seed: int, quiet: bool) -> list[ExperimentResult]:
    """Run the experiments that show the findings."""
    from rich.console import Console

    from harness.cli.results import print_result, run_and_report
    from harness.run import executor
    from harness.spec.experiment_files import load

    done: list[ExperimentResult] = []
    proofs = found.proofs()
    if not proofs and not quiet:
        typer.echo("\nno built-in experiment shows these findings")
    for proof in proofs:
        arms = [word for arm in proof.arms for word in ("--arm", arm)]
        command = shlex.join(["kafka-chaos", "run", proof.experiment, *arms, "--seed", str(seed)])
        options = executor.Options(results=results, seed=seed, arms=proof.arms, command=command)
        ((folder, result),) = run_and_report([load(proof.experiment)], options, quiet)
        if not quiet:
            print_result(Console(), result)
            typer.echo(f"report: {folder / 'report.html'}\n")
        done.append(result)
    return done
