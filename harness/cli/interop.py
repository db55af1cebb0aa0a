"""Commands that take histories from other tools, and give ours to them."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import typer


class AcksOption(StrEnum):
    """The producers' acks."""

    NONE = "0"
    LEADER = "1"
    ALL = "all"


_ACKS: dict[AcksOption, Literal["0", "1", "all"]] = {
    AcksOption.NONE: "0",
    AcksOption.LEADER: "1",
    AcksOption.ALL: "all",
}


class Format(StrEnum):
    """Formats that a run can be written in."""

    JEPSEN = "jepsen"


def import_run(
    folder: Annotated[Path, typer.Argument(help="The run folder to write.")],
    producer: Annotated[
        list[Path], typer.Option(help="What a VerifiableProducer printed; may be given again.")
    ],
    consumer: Annotated[
        list[Path] | None,
        typer.Option(help="What a VerifiableConsumer with --verbose printed; may be given again."),
    ] = None,
    final: Annotated[
        list[Path] | None,
        typer.Option(
            help="As --consumer, of one that read from the beginning to the end when all was over. "
            "Default: all consumers together."
        ),
    ] = None,
    complete: Annotated[
        bool, typer.Option("--complete", help="Your word that the final read missed nothing.")
    ] = False,
    acks: Annotated[AcksOption, typer.Option(help="The producers' acks.")] = AcksOption.ALL,
    idempotent: Annotated[bool, typer.Option("--idempotent", help="The producers were idempotent.")] = False,
    topic: Annotated[str | None, typer.Option(help="The topic; default: the first one met.")] = None,
    partitions: Annotated[
        int | None, typer.Option(min=1, help="Partitions of the topic; default: as many as were read.")
    ] = None,
    repeating_keys: Annotated[
        int | None, typer.Option(min=1, help="The producers' --repeating-keys; default: as keys show.")
    ] = None,
) -> None:
    """Make a run folder from the JSON lines of Kafka's VerifiableProducer and VerifiableConsumer.

    Then: `kafka-chaos check FOLDER`. What these tools do not tell: sends that were under way when one was
    killed (their numbers count as indeterminate up to the highest one read), when a record was handed
    over (only when its report came, in ms), retries, leader epochs, the topic's retention. Whether
    everything was read is known to you alone: without --complete the verdict is `unknown`.
    """
    from harness.interop.import_summary import Source
    from harness.interop.verifiable_import import import_run as write

    done = write(
        Source(
            producers=tuple(producer),
            consumers=tuple(consumer or ()),
            finals=tuple(final or ()),
            complete=complete,
            acks=_ACKS[acks],
            idempotent=idempotent,
            topic=topic,
            partitions=partitions,
            keys=repeating_keys,
        ),
        folder,
    )
    for line in (
        *done.file_lines,
        *done.meta.problems,
        *(done.meta.final_read.reasons if done.meta.final_read else ()),
    ):
        typer.echo(line)
    typer.echo(f"written; now: kafka-chaos check {folder}")


def export_run(
    run: Annotated[Path, typer.Argument(help="A run folder, below results/.")],
    target: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write.")],
    to: Annotated[Format, typer.Option(help="The format: jepsen (EDN).")] = Format.JEPSEN,
) -> None:
    """Write a run as a history that another checker reads, so that both can judge the same one.

    `jepsen` is the history of Jepsen's Kafka workload (jepsen.tests.kafka), an operation a line: partitions
    are its keys, records its values, the final read and every session of a live reader polls of a process
    of their own. Under acks=0 a success is `:info`. Of transactional runs only read_committed readers are
    written.
    """
    from harness.interop.jepsen_export import EXPORTS

    done = EXPORTS[to.value](run, target)
    for name in done.left_out:
        typer.echo(f"left out: reader {name}, which may read what is not committed")
    typer.echo(f"{done.lines:,} lines written to {target}")


def chaos_mesh(
    experiment: Annotated[str, typer.Argument(help="A built-in experiment or a YAML file.")],
    namespace: Annotated[str, typer.Option(help="Namespace of Kafka's pods.")] = "kafka",
    pod: Annotated[str, typer.Option(help="Name of a broker's pod, its id for {broker}.")] = "kafka-{broker}",
) -> None:
    """Print an experiment whose faults are custom resources of Chaos Mesh, applied with kubectl.

    Run what it prints with `run FILE --bootstrap-servers`: docs/how-to/own-cluster.md. A fault that Chaos
    Mesh has no equal for is refused.
    """
    from harness.interop import chaos_mesh as mesh
    from harness.spec import files

    place = mesh.PodNaming(namespace, pod)
    typer.echo(mesh.text_of(mesh.to_chaos_mesh(files.load(experiment), place)), nl=False)


def add(app: typer.Typer) -> None:
    """Give the command line these commands."""
    app.command("import")(import_run)
    app.command("export")(export_run)
    app.command("chaos-mesh")(chaos_mesh)
