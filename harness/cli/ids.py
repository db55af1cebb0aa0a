"""The command that compares the ids that were sent with those that arrived, in a list or in a topic."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from harness.cli.interop import tell_written
from harness.cli.options import (
    ClientConfigOption,
    EngineOption,
    JsonOption,
    QuietOption,
    print_json,
    working,
)
from harness.model.errors import BadInput
from harness.model.secrets import this_command
from workloads.records.config.id_spec import PLACES, parse_id_location

if TYPE_CHECKING:
    from harness.tools.interop.ids_import import IdsImport
    from harness.tools.interop.ledger_check import LedgerRequest


def import_ids(
    sent: Annotated[list[Path], Option(help="CSV or TSV, a row for each send; may be repeated.")],
    id_column: Annotated[str, Option("--id", help="The column with the id of the record, such as order_id.")],
    received: Annotated[
        list[Path] | None,
        Option(help="CSV or TSV, a row for each record that was received; may be repeated."),
    ] = None,
    received_id: Annotated[
        str | None,
        Option(
            help="The column with the id in --received, if it has another name there; of --topic the place "
            f"of the id in a record: {PLACES}. Default: a field of this name of a JSON value."
        ),
    ] = None,
    topic: Annotated[
        str | None, Option(help="Instead of --received: the topic that has the records, which is read.")
    ] = None,
    bootstrap_servers: Annotated[
        str | None, Option(help="With --topic: host:port of the cluster that was written to.")
    ] = None,
    client_config: ClientConfigOption = None,
    folder: Annotated[Path | None, Option(help="With --topic: the run folder to write.")] = None,
    id_times: Annotated[
        int, Option(min=1, help="With --topic: how often each id is meant to be in the log.")
    ] = 1,
    outcome: Annotated[
        str | None,
        Option(
            help="The column of --sent that says how the send ended. Default: outcome, if there is such a "
            "column; else every send counts as acknowledged."
        ),
    ] = None,
    acked: Annotated[
        list[str] | None,
        Option(
            help="A word in that column for an acknowledged send, which must be there (usual ones, such as "
            "ok and success, are known); may be repeated."
        ),
    ] = None,
    failed: Annotated[
        list[str] | None,
        Option(
            help="A word for a send that failed, which may be there or not, since a time-out does not say "
            "(usual ones, such as error and timeout, are known); may be repeated."
        ),
    ] = None,
    rejected: Annotated[
        list[str] | None,
        Option(help="A word for a send that certainly was not written; may be repeated."),
    ] = None,
    complete: Annotated[
        bool, Option("--complete", help="State that --received misses nothing: it was read to the end.")
    ] = False,
    idempotent: Annotated[
        bool,
        Option(
            "--idempotent",
            help="No id may be received more often than sent; else this is only counted.",
        ),
    ] = False,
    engine: EngineOption = "auto",
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Compare a list of the ids that were sent with one of those that were received, or with a topic.

    It is for those who have a ledger and nothing else: no journal, no dump with offsets. Ids are compared as
    text. An acknowledged id that was not received is `lost`, one that was received more often than sent
    `duplicate`, a failed one that was received `recovered`, a rejected one `rejected_present`, and one that
    was never sent `phantom`. A list has no offsets, partitions, times and replicas: where and when a record
    was lost cannot be said. Without --complete the verdict is `unknown`. Nothing is written. Exit codes are
    those of `check`. docs/how-to/other-tools.md shows it.

    With --topic, --bootstrap-servers and --folder the topic is read to its end, with the proof that nothing
    was missed, and a run folder is written. Continue with `kafka-chaos check FOLDER`, which finds `lost_id`,
    `duplicate_id` and `phantom_id`, and says at which offsets. --complete and --idempotent are of
    lists only.
    """
    from checkers import EngineChoice
    from harness.tools.interop.ledger_check import LedgerRequest

    lists = LedgerRequest(
        sent=tuple(sent),
        received=tuple(received or ()),
        id=id_column,
        received_id=received_id,
        outcome=outcome,
        acked=tuple(acked or ()),
        failed=tuple(failed or ()),
        rejected=tuple(rejected or ()),
        complete=complete,
        idempotent=idempotent,
        engine=EngineChoice(engine),
    )
    of_topic = _of_topic(lists, topic, bootstrap_servers, folder, client_config, id_times)
    if of_topic is None:
        _compare(lists, as_json=as_json, quiet=quiet)
    else:
        _read_topic(*of_topic, quiet=quiet)


def _of_topic(
    lists: LedgerRequest,
    topic: str | None,
    servers: str | None,
    folder: Path | None,
    client_config: Path | None,
    times: int,
) -> tuple[IdsImport, Path] | None:
    """What is to be read, and the run folder to write; None: two lists are compared.

    Raises:
        BadInput: it is not said what the ids are compared with, or both a list and a topic are named.
    """
    of_topic = {"--topic": topic, "--bootstrap-servers": servers, "--folder": folder}
    given = [name for name, value in of_topic.items() if value is not None]
    if lists.received and not given:
        return None
    only_lists = {
        "--received": lists.received,
        "--complete": lists.complete,
        "--idempotent": lists.idempotent,
    }
    excess = [name for name, value in only_lists.items() if value] if given else []
    if excess or topic is None or servers is None or folder is None:
        raise BadInput(
            "it is not clear what the ids are compared with",
            where="import-ids",
            expected=f"--received FILE for a list, or {', '.join(of_topic)} for a topic",
            found=", ".join((*given, *excess)) or "none of them",
            next_step="give the options of one of the two",
        )
    from harness.tools.interop.ids_import import IdsImport

    place = parse_id_location(lists.received_id or f"json:{lists.id}", times)
    return IdsImport(lists, topic, servers, place, client_config), folder


def _read_topic(request: IdsImport, folder: Path, *, quiet: bool) -> None:
    """Write the run folder, and tell how to go on."""
    from harness.tools.interop.ids_import import import_ids as write

    with working(quiet, "nothing is written"):
        meta, lines = write(request, folder)
    for line in lines:
        typer.echo(line)
    tell_written(meta, folder)


def _compare(request: LedgerRequest, *, as_json: bool, quiet: bool) -> None:
    """Compare two lists, and exit as `check` does."""
    from harness.tools.interop.ledger_check import check_ids
    from harness.tools.interop.ledger_page import ledger_text

    with working(quiet, "nothing is written"):
        done = check_ids(request, this_command())
    if as_json:
        print_json(done.result.model_dump(mode="json"))
    else:
        for line in (*done.file_lines, *ledger_text(done.result)):
            typer.echo(line)
    raise typer.Exit(done.result.exit_code())
