"""Commands that import histories of other tools and export ours to them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer
from typer import Argument, Option

from harness.cli.options import ClientConfigOption
from harness.model.run import RunMeta
from workloads.records.config.id_spec import PLACES, parse_id_location

FolderArgument = Annotated[Path, Argument(help="The run folder to write.")]
IdempotentOption = Annotated[bool, Option("--idempotent", help="The producers were idempotent.")]


def import_run(
    folder: FolderArgument,
    producer: Annotated[list[Path], Option(help="The output of a VerifiableProducer; may be repeated.")],
    consumer: Annotated[
        list[Path] | None,
        Option(
            help="The output of a VerifiableConsumer or VerifiableShareConsumer with --verbose; may be "
            "repeated."
        ),
    ] = None,
    final: Annotated[
        list[Path] | None,
        Option(
            help="As --consumer, for a consumer that read everything after the producers were done; or a "
            "dump of the topic by kcat -J or kafka-console-consumer. Default: all consumers together."
        ),
    ] = None,
    share_offsets: Annotated[
        Path | None,
        Option(
            help="What `kafka-share-groups --describe --offsets --group GROUP` printed of the share group of "
            "these consumers, once they had ended."
        ),
    ] = None,
    complete: Annotated[bool, Option("--complete", help="State that the final read missed nothing.")] = False,
    acks: Annotated[
        Literal["0", "1", "all"] | None,
        Option(help="The producers' acks. Default: 0 if no success has an offset, else all."),
    ] = None,
    idempotent: IdempotentOption = False,
    topic: Annotated[str | None, Option(help="The topic; default: the topic of the first event.")] = None,
    partitions: Annotated[
        int | None, Option(min=1, help="Number of partitions of the topic; default: those that were read.")
    ] = None,
    repeating_keys: Annotated[
        int | None, Option(min=1, help="The producers' --repeating-keys; default: derived from the keys.")
    ] = None,
) -> None:
    """Make a run folder from the JSON lines of Kafka's VerifiableProducer and VerifiableConsumer.

    Confluent's tools of these names, dumps of kcat and kafka-console-consumer, and prefixes of `docker
    compose logs` and its like are read too: docs/how-to/other-tools.md lists what is read and what is
    refused. Continue with `kafka-chaos check FOLDER`. The lines do not contain: sends in flight when a tool
    was killed (their numbers count as indeterminate up to the highest one that was read), the times of
    sends (only those of reports, in ms), retries, leader epochs, the topic's retention. They do not show
    whether everything was read either: without --complete the verdict is `unknown`.
    """
    from harness.tools.interop.import_summary import VerifiableImport
    from harness.tools.interop.verifiable_import import import_run as write

    done = write(
        VerifiableImport(
            producers=tuple(producer),
            consumers=tuple(consumer or ()),
            finals=tuple(final or ()),
            complete=complete,
            acks=acks,
            idempotent=idempotent,
            topic=topic,
            partitions=partitions,
            keys=repeating_keys,
            share_offsets=share_offsets,
        ),
        folder,
    )
    for line in done.file_lines:
        typer.echo(line)
    tell_written(done.meta, folder)


def import_sends(
    folder: FolderArgument,
    journal: Annotated[
        list[Path],
        Option(help="A folder of `kafka_chaos.journaled`, or events in a .jsonl file; may be repeated."),
    ],
    bootstrap_servers: Annotated[str, Option(help="host:port of the cluster that was written to.")],
    client_config: ClientConfigOption = None,
    idempotent: IdempotentOption = False,
    max_in_flight: Annotated[
        int | None, Option(min=1, help="The producers' max.in.flight.requests.per.connection, if 1.")
    ] = None,
    transaction_timeout_ms: Annotated[
        int, Option(min=1000, help="The producers' transaction.timeout.ms.")
    ] = 60_000,
    record_id: Annotated[
        str | None,
        Option(
            "--id", help=f"Where records have an id of their own, by which they are judged, too: {PLACES}."
        ),
    ] = None,
    id_times: Annotated[int, Option(min=1, help="How often each id is meant to be in the log.")] = 1,
) -> None:
    """Make a run folder from what your own producers journaled, and read their topic to its end.

    Continue with `kafka-chaos check FOLDER`. All records of the topic must come from these producers, whose
    journals are closed. Faults are not known to such a run. docs/how-to/own-producer.md describes the
    journals.
    """
    from harness.tools.interop.own_import import OwnImport, import_own

    meta = import_own(
        OwnImport(
            journals=tuple(journal),
            bootstrap_servers=bootstrap_servers,
            client_config=client_config,
            idempotent=idempotent,
            max_in_flight=max_in_flight,
            transaction_timeout_ms=transaction_timeout_ms,
            ids=None if record_id is None else parse_id_location(record_id, id_times),
        ),
        folder,
    )
    tell_written(meta, folder)


def tell_written(meta: RunMeta, folder: Path) -> None:
    """Print what is wrong with an imported run, and how to go on."""
    for line in (*meta.problems, *(meta.final_read.reasons if meta.final_read else ())):
        typer.echo(line)
    typer.echo(f"written; now: kafka-chaos check {folder}")


def export_run(
    run: Annotated[Path, Argument(help="A run folder below results/.")],
    target: Annotated[Path, Argument(metavar="FILE", help="The file to write.")],
    to: Annotated[Literal["jepsen"], Option(help="The format: jepsen (EDN).")] = "jepsen",  # noqa: ARG001
) -> None:
    """Write a run as a history for another checker, so that both can judge the same run.

    `jepsen` is the history of Jepsen's Kafka workload (jepsen.tests.kafka), one operation per line.
    Partitions are its keys, records its values; the final read and every session of a live reader are polls
    of separate processes. Under acks=0 a success is `:info`. For transactional runs only read_committed
    readers are written.
    """
    from harness.tools.interop.jepsen_export import export_jepsen

    done = export_jepsen(run, target)
    for name in done.left_out:
        typer.echo(f"left out: reader {name}, which may read uncommitted records")
    typer.echo(f"{done.lines:,} lines written to {target}")
