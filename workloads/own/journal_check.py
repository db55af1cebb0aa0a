"""Reads journals of the user's own producers as a run does, without a run: what it would refuse."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.model.errors import BadInput
from harness.model.journal import SENDS, SENDS_DIR, SendOutcome
from harness.model.journal_reader import JournalRow, count_rows
from workloads.own.client_settings import ClientSettings
from workloads.own.journal_files import TakenOver, files_of, take_over_files, target_of
from workloads.own.producer_folder import FOLDER_VARIABLE, PRODUCERS_DIR, ProducerTarget
from workloads.records.producer.outcomes import NO_REPORT
from workloads.records.producer.send_journal import SendJournal

_COLUMNS = ["producer", "outcome", "error"]


@dataclass(frozen=True, slots=True)
class CheckedJournal:
    """One file, and the number of its sends by outcome (in the order of `SendOutcome`), up to the line that
    cannot be used; `without_report` of them have none."""

    taken: TakenOver
    outcomes: Mapping[SendOutcome, int]
    without_report: int

    def refusal(self) -> BadInput | None:
        """Why a run would not know what was sent; None: the file is whole."""
        problem = self.taken.problem
        if not isinstance(problem, str):
            return problem
        return BadInput(
            problem,
            where=str(self.taken.file),
            expected='{"event": "end"} as the last line, once every report is there',
            next_step="let the program end its journal; of one that was killed on purpose, add the line",
        )

    def __str__(self) -> str:
        if self.taken.producer is None:
            return f"{self.taken.file.name}: not taken over"
        counts = [f"{outcome.value} {count:,}" for outcome, count in self.outcomes.items() if count]
        sends = ": ".join((f"sends {sum(self.outcomes.values()):,}", *filter(None, [", ".join(counts)])))
        parts = [
            f"{self.taken.file.name}: producer {self.taken.producer}",
            _client(self.taken.settings),
            f"{sends} (without a report {self.without_report:,})" if self.without_report else sends,
        ]
        if self.taken.transactions:
            parts.append(f"transactions {self.taken.transactions:,} (`own: {{transactional: true}}`)")
        return "; ".join(parts)


def check_journals(path: Path) -> tuple[ProducerTarget, list[CheckedJournal]]:
    """Read the journals of a folder, or one file of events, as a run reads them at its end.

    Returns:
        What they were written for, and the files in the order of their names.

    Raises:
        BadInput: there is no such folder, it holds no journal, or no file has a `begin`.
    """
    files = _existing_files(path)
    target = target_of(path)
    with tempfile.TemporaryDirectory() as scratch:
        sends = Path(scratch) / SENDS_DIR
        with SendJournal(sends, target.topic) as journal:
            taken = list(take_over_files(files, target, journal, None))
        counts = count_rows(sends, SENDS, _COLUMNS)
    return target, [_checked(one, counts) for one in taken]


def _checked(taken: TakenOver, counts: Sequence[JournalRow]) -> CheckedJournal:
    outcomes, without_report = dict.fromkeys(SendOutcome, 0), 0
    for row in counts:
        if row["producer"] == taken.producer:
            outcomes[SendOutcome(row["outcome"])] += row["count_all"]
            without_report += row["count_all"] if row["error"] == NO_REPORT else 0
    return CheckedJournal(taken, outcomes, without_report)


def refuse_unusable(checked: Sequence[CheckedJournal]) -> None:
    """Raise what a run would refuse, of all files at once.

    Raises:
        BadInput: a file is not whole.
    """
    refusals = list(_refusals(checked))
    if refusals:
        first, *others = refusals
        first.others = tuple(others)
        raise first


def _refusals(checked: Sequence[CheckedJournal]) -> Iterator[BadInput]:
    for one in checked:
        refusal = one.refusal()
        if refusal is not None:
            yield refusal


def _existing_files(path: Path) -> list[Path]:
    if not path.exists():
        raise BadInput(
            "there is no such folder",
            where=str(path),
            expected=f"the folder that {FOLDER_VARIABLE} named, or a file of events",
            next_step=f"name it; of a run it is {PRODUCERS_DIR} in the folder of the arm",
        )
    files = files_of(path)
    if not files:
        of_run = path / PRODUCERS_DIR
        raise BadInput(
            "the folder holds no journal",
            where=str(path),
            expected="a file for each producer, whose name ends in .jsonl",
            found="none: no producer has begun one",
            next_step=f"name {of_run}"
            if of_run.is_dir()
            else f"see that the program finds {FOLDER_VARIABLE} in its environment",
        )
    return files


def _client(settings: ClientSettings | None) -> str:
    if settings is None:
        return "settings of the arm"
    idempotent = "idempotent" if settings.idempotent else "not idempotent"
    return f"{settings.client} (acks={settings.acks}, {idempotent})"
