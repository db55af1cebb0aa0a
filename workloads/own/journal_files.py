"""The files of events that producers of the user's own have left: which there are, whose they are, and what
becomes of each when it is taken over."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.model.errors import BadInput
from harness.model.journal import RowSink
from workloads.own.client_settings import ClientSettings
from workloads.own.json_events import open_events
from workloads.own.producer_folder import ProducerFolder, ProducerTarget
from workloads.own.take_over import Steps, Times, import_events
from workloads.records.producer.send_journal import SendJournal


def files_of(path: Path) -> list[Path]:
    """The files of events of a folder; a file is its own."""
    return ProducerFolder(path).event_files() if path.is_dir() else [path]


def target_of(path: Path) -> ProducerTarget:
    """What the producers of a folder, or of a file of events, wrote for. A folder with files of events alone
    needs no target: the first file that has a `begin` names it.

    Raises:
        BadInput: it is no such folder or file.
    """
    folder, files = ProducerFolder(path), files_of(path)
    if path.is_dir() and (folder.exists or not files):
        return folder.target()
    refused = None
    for file in files:
        try:
            return open_events(file)[1]
        except BadInput as error:
            refused = refused or error
    assert refused is not None  # there is a file
    raise refused


@dataclass(frozen=True, slots=True)
class TakenOver:
    """What became of one file. `producer` and `settings` are what its `begin` says (None: it does not), and
    `problem` is why it is not known what was sent (None: the file is whole)."""

    file: Path
    producer: int | None
    settings: ClientSettings | None
    transactions: int
    problem: BadInput | str | None


def take_over_files(
    files: Sequence[Path],
    target: ProducerTarget,
    journal: SendJournal,
    transactions: RowSink | None,
    *,
    ids: RowSink | None = None,
    steps: Callable[[Times], Steps] = lambda _: 0,
    waited: float | None = None,
) -> Iterator[TakenOver]:
    """Add what these files hold to the journals of a run, one after the other. `transactions` None: they are
    counted only. The arguments are those of `import_events`.

    Raises:
        JournalError: the journal cannot be written.
    """
    taken: set[int] = set()
    for file in files:
        before, settings, rows = set(taken), dict[int, ClientSettings](), _CountedRows(transactions)
        problem: BadInput | str | None
        try:
            problem = import_events(
                *(file, target, journal, rows),
                taken=taken,
                ids=ids,
                steps=steps,
                settings=settings,
                waited=waited,
            )
        except BadInput as error:
            problem = error
        producer = next(iter(taken - before), None)
        told = None if producer is None else settings.get(producer)
        yield TakenOver(file, producer, told, rows.count, problem)


class _CountedRows:
    """Passes rows on, if there is somebody who takes them."""

    def __init__(self, sink: RowSink | None) -> None:
        self.count = 0
        self._sink = sink

    def append(self, row: dict[str, Any]) -> None:
        self.count += 1
        if self._sink is not None:
            self._sink.append(row)
