"""The verdict about two lists of ids, sent and received: nothing else is known of such a history."""

from __future__ import annotations

import platform
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from checkers import EngineChoice, count_ids, engine_failures, judge, usual_engine
from harness.check_jobs.engines import open_engine, require_engine
from harness.model.errors import BadInput
from harness.model.journal import SendOutcome
from harness.model.result import ArmResult, Example, ExperimentResult, Summary
from harness.model.run import FinalRead, RunMeta
from harness.tools.interop.import_files import readable_twice
from harness.tools.interop.ledger_files import WORDS, LedgerRead, column_names, write_ids

if TYPE_CHECKING:
    from checkers import LedgerCounts

_OUTCOME = "outcome"
"""The column of outcomes, if a file has one of this name and nothing else is said."""


@dataclass(frozen=True, slots=True)
class LedgerRequest:
    """The lists to compare, and what they do not contain.

    `id` is the column of the ids (`received_id`: in the second list, if it has another name there), `outcome`
    that of the sends' outcomes (None: `outcome`, if there is such a column, else all are acknowledged).
    `acked`, `failed` and `rejected` are words in it. `complete`: the user states that nothing that was
    received is missing.
    `idempotent`: no id may be received more often than it was sent.
    """

    sent: tuple[Path, ...]
    received: tuple[Path, ...]
    id: str
    received_id: str | None = None
    outcome: str | None = None
    acked: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    rejected: tuple[str, ...] = ()
    complete: bool = False
    idempotent: bool = False
    engine: EngineChoice = field(default_factory=EngineChoice)


@dataclass(frozen=True, slots=True)
class LedgerResult:
    """The result as that of an experiment with one arm, and a line about each file."""

    result: ExperimentResult
    file_lines: tuple[str, ...]


def check_ids(request: LedgerRequest, command: str) -> LedgerResult:
    """Compare the lists on an engine. Nothing is kept.

    Raises:
        BadInput: a file or a column cannot be used, or words contradict each other.
        PrerequisiteMissing, CheckError: the engine did not start, or failed.
    """
    began = time.perf_counter()
    words = sent_words(request)
    with TemporaryDirectory(prefix="kafka-chaos-ids-") as name, ExitStack() as stack:
        folder = Path(name)
        sent, received = folder / "sent", folder / "received"
        sent.mkdir()
        received.mkdir()
        read = list(read_sent(request, words, sent, stack))
        read += [
            write_ids(
                readable_twice(path, stack), request.received_id or request.id, received / f"{number}.parquet"
            )
            for number, path in enumerate(request.received)
        ]
        started = open_engine(require_engine(request.engine, usual_engine(sum(file.rows for file in read))))
        with engine_failures(request.sent[0]):
            counts = count_ids(started.session(), sent, received, folder / "ids")
    meta = _metadata(request, counts, [problem for file in read for problem in file.problems])
    seconds = round(time.perf_counter() - began, 3)
    summary = _summary(counts, seconds)
    arm = ArmResult(
        folder="ids", meta=meta, summary=summary, judgement=judge(meta, summary), check_seconds=seconds
    )
    result = ExperimentResult(
        experiment=meta.experiment,
        title="lists of ids",
        description="",
        arms=(arm,),
        started_ns=0,
        seconds=seconds,
        command=command,
    )
    return LedgerResult(result, tuple(file.line for file in read))


def read_sent(
    request: LedgerRequest, words: dict[str, str], folder: Path, stack: ExitStack
) -> list[LedgerRead]:
    """Write the ids of the lists of sends, with their outcomes, into Parquet files in `folder`; `stack` keeps
    copies of pipes.

    Raises:
        BadInput: a file or a column cannot be used, or an outcome is not in `words` (`sent_words`).
    """
    reads = []
    for number, path in enumerate(request.sent):
        content = readable_twice(path, stack)
        outcome = request.outcome
        if outcome is None and _OUTCOME in column_names(content):
            outcome = _OUTCOME
        read = write_ids(content, request.id, folder / f"{number}.parquet", words, outcome)
        how = (
            f"outcomes of the column {outcome}"
            if outcome
            else "all taken as acknowledged (--outcome names a column)"
        )
        reads.append(LedgerRead(read.rows, f"{read.line}, {how}", read.problems))
    return reads


def sent_words(request: LedgerRequest) -> dict[str, str]:
    """Outcome by word, in lower case; the user's own words come before the usual ones.

    Raises:
        BadInput: a word is given for two outcomes.
    """
    given = (
        (SendOutcome.ACKED, request.acked),
        (SendOutcome.INDETERMINATE, request.failed),
        (SendOutcome.REJECTED, request.rejected),
    )
    own: dict[str, str] = {}
    for outcome, words in given:
        for word in (text.strip().lower() for text in words):
            if own.setdefault(word, outcome.value) != outcome.value:
                raise BadInput(
                    f"the word {word!r} is given for two outcomes",
                    where="--acked, --failed, --rejected",
                    found=f"{own[word]} and {outcome.value}",
                    next_step="give each word once",
                )
    usual = {word: outcome.value for outcome, words in WORDS.items() for word in words}
    return {**usual, **own}


def _metadata(request: LedgerRequest, counts: LedgerCounts, problems: Sequence[str]) -> RunMeta:
    reasons = () if request.complete else ("it is not stated that the list is whole (--complete)",)
    problems = list(problems)
    if counts.received and sum(counts.outcomes.values()) and not counts.in_both:
        problems.append("no id is in both lists: do both have the same ids, in the same form?")
    return RunMeta(
        run_id=1,
        experiment="import-ids",
        arm=request.id,
        topic="",
        partitions=1,
        replication_factor=1,
        acks="all",
        idempotent=request.idempotent,
        client="a list of ids",
        versions={"python": platform.python_version(), "kafka-chaos": version("kafka-chaos")},
        started_ns=0,
        ended_ns=0,
        final_read=FinalRead(
            complete=not reasons,
            attested=request.complete,
            reasons=reasons,
            bounds=(),
            records=counts.received,
            finished_ns=0,
        ),
        finished=True,
        problems=tuple(problems),
    )


def _summary(counts: LedgerCounts, seconds: float) -> Summary:
    return Summary(
        sent=sum(counts.outcomes.values()),
        outcomes=counts.outcomes,
        reads=counts.received,
        findings=counts.findings,
        acked_by_step={},
        lost_by_step={},
        lost_places={},
        lost_held_by_leader=0,
        lost_unexamined=0,
        extra_copies=counts.extra_copies,
        counts=(),
        examples=tuple(
            Example(
                finding=finding,
                producer=None,
                seq=None,
                partition=None,
                offsets=(),
                acked_offset=None,
                outcome=None,
                sent_ns=None,
                closed_ns=None,
                error=None,
                windows="",
                held_by=(),
                detail=detail,
            )
            for finding, detail in counts.examples
        ),
        unavailable_seconds=0.0,
        check_seconds=seconds,
        engine=counts.engine,
    )
