"""The story of a run as text: events, and the state of every broker after each of them.

It is made from the journals of the run: steps, fault events, the samples of what every broker believed, the
answers of brokers in ask steps, and the records in their own files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import groupby
from typing import Any

from harness.lab.suite.run_evidence import SECOND, EvidenceMissing, FinishedRun
from harness.model.journal import REPLICAS_DIR, SAMPLES_DIR
from harness.model.journal_reader import JournalRow
from harness.spec.experiment import Experiment
from harness.spec.run_plan import plan_of

MOST_PARTITIONS = 8
"""Topics with more partitions have no story: one column per broker would not hold them."""
_SOON_NS = SECOND // 2
_MOST_LINES = 60
_MOST_SPANS = 12
_NUMBERS = {
    "leader": "who leads",
    "log_end": "log end offset",
    "high_watermark": "high watermark",
    "list_offsets": "end for a consumer",
    "fetch": "high watermark given to a consumer",
    "fetch_v10": "answer to Fetch 10",
    "produce": "answer to Produce",
    "checkpoint": "replication-offset-checkpoint",
}
_LEFT_OUT = frozenset({"inject", "heal", "sleep"})


def story(run: FinishedRun, experiment: Experiment) -> tuple[str, ...]:
    """Lines of text: a table of events, then who held which records; () for a run with too little evidence.

    Each row is the state after an event: the log end offset (LEO) of each broker, the high watermark (HW) and
    epoch of the leader, and the ISR as the newest leader has it.
    """
    if run.meta.partitions > MOST_PARTITIONS:
        return ()
    try:
        table = _table(run, experiment)
    except EvidenceMissing:
        return ()
    return (*table, "", *_holdings(run))


def _table(run: FinishedRun, experiment: Experiment) -> list[str]:
    brokers = sorted({row["broker"] for row in run.rows(SAMPLES_DIR)})
    rows = [["s", "what happened", *(f"broker {number}" for number in brokers), "ISR"]]
    begin = run.meta.started_ns
    moments = sorted(_moments(run, experiment))
    # A fault may begin to take effect when it is decided.
    changes = sorted([*(at_ns for at_ns, _ in moments), *run.decided_ns()])
    for at_ns, what in moments:
        beliefs = _beliefs(run, at_ns, next((change for change in changes if change > at_ns), None))
        cells = [_cell(beliefs.get(number)) for number in brokers]
        led = [row for row in beliefs.values() if _leads(row)]
        newest = max(led, key=lambda row: row["leader_epoch"], default=None)
        isr = ",".join(map(str, sorted(newest["isr"]))) if newest else "-"
        rows.append([f"{(at_ns - begin) / SECOND:.1f}", what, *cells, isr])
    left_out = len(rows) - 1 - _MOST_LINES
    if left_out > 0:
        rows[_MOST_LINES + 1 :] = [["", f"... and {left_out} more", *("" for _ in brokers), ""]]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(
            cell.rjust(width) if column == 0 else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _moments(run: FinishedRun, experiment: Experiment) -> Iterator[tuple[int, str]]:
    """The events, each with its time in nanoseconds."""
    planned = {step.index: step.what for step in plan_of(experiment, run.meta.seed).steps}
    for step in run.meta.steps:
        if step.ended_ns is None or step.kind in _LEFT_OUT:
            continue
        what = planned[step.index]
        if step.kind in ("write", "drive", "rival"):
            what = f"{step.name}: {_outcomes(run, step.index, step.ended_ns)}"
        elif step.kind == "wait":
            what = what.rpartition(", ")[0].replace("wait until ", "seen: ")
        elif ask := experiment.steps[step.index].ask:
            what = f"{ask.name}: {what.partition(' for ')[0].replace('ask', 'asked')}"
        yield step.ended_ns, what
    for at_ns, what in run.events():
        yield at_ns, what
    if run.meta.ended_ns is not None:
        yield run.meta.ended_ns, "final read"


def _outcomes(run: FinishedRun, index: int, until_ns: int) -> str:
    counted: Counter[str] = Counter()
    for row in run.all_sends:
        if row["step"] == index:
            late = row["closed_ns"] is None or row["closed_ns"] > until_ns
            counted["still open" if late else row["outcome"]] += 1
    return ", ".join(f"{count:,} {word}" for word, count in counted.items()) or "nothing sent"


def _beliefs(run: FinishedRun, at_ns: int, next_ns: int | None) -> dict[int, JournalRow]:
    """By broker, the sample of partition 0: the first one after a moment if it was taken soon and before the
    next event, else the last one before."""
    until = at_ns + _SOON_NS if next_ns is None else min(at_ns + _SOON_NS, next_ns)
    soon = [moment for moment in run.by_moment if at_ns <= moment < until][:1]
    chosen = soon or [moment for moment in run.by_moment if moment <= at_ns][-1:]
    rows = run.by_moment[chosen[0]] if chosen else ()
    return {row["broker"]: row for row in rows if row["partition"] in (0, None)}


def _leads(row: JournalRow) -> bool:
    return bool(row["answered"]) and row["leader"] is not None and row["leader"] == row["broker"]


def _cell(row: JournalRow | None) -> str:
    if row is None or not row["answered"]:
        return "no answer"
    if row["log_end_offset"] is None:
        return "no replica"
    text = f"LEO {row['log_end_offset']}"
    if _leads(row):
        mark = "-" if row["high_watermark"] is None else row["high_watermark"]
        text += f" HW {mark} leads, epoch {row['leader_epoch']}"
    return text


def _holdings(run: FinishedRun) -> Iterator[str]:
    """Who held which records: at the steps that asked for brokers' files, and at the end."""
    steps = {step.index: step.name for step in run.meta.steps}
    with suppress(EvidenceMissing):
        names = {(row["producer"], row["seq"]): steps[row["step"]] for row in run.all_sends}
        with suppress(EvidenceMissing):
            yield from _answers(run.all_answers)
            for row in run.all_answers:
                if row["question"] == "files" and row["error"] is None:
                    yield f"{row['ask']}, files of broker {row['broker']}: {_files(row['detail'], names)}"
        with suppress(EvidenceMissing):
            replicas = [row for row in run.rows(REPLICAS_DIR) if row["partition"] == 0 and not row["control"]]
            for broker, rows in groupby(replicas, key=lambda row: row["broker"]):
                yield f"at the end, files of broker {broker}: {_read(list(rows), names)}"
        with suppress(EvidenceMissing):
            log = [row for row in run.final_log if row["partition"] == 0]
            yield f"at the end, final read: {_read(log, names)}"


def _answers(answers: Sequence[JournalRow]) -> Iterator[str]:
    """What brokers answered with a number or an error, in ask steps of one round."""
    for ask, rows in groupby(answers, key=lambda row: row["ask"]):
        numeric = [row for row in rows if row["question"] in _NUMBERS]
        if max((row["round"] for row in numeric), default=1) > 0:
            continue
        for question, ones in groupby(numeric, key=lambda row: row["question"]):
            texts = ", ".join(f"broker {row['broker']}: {_answer(row)}" for row in ones)
            yield f"{ask}, {_NUMBERS[question]}: {texts}"


def _answer(row: JournalRow) -> str:
    return str(row["error"] or ("no error" if row["number"] is None else row["number"]))


def _read(rows: Sequence[JournalRow], names: dict[tuple[int, int], str]) -> str:
    return _spans(
        (row["offset"], names.get((row["producer"], row["seq"]), "?"), row["leader_epoch"]) for row in rows
    )


def _files(detail: dict[str, Any], names: dict[tuple[int, int], str]) -> str:
    """The records in a broker's files: each in the newest epoch that begins at it or before it."""

    def epoch_at(offset: int) -> int | None:
        return max((epoch for epoch, start in detail["epochs"] if start <= offset), default=None)

    return _spans(
        (offset, names.get((producer, seq), "?"), epoch_at(offset))
        for offset, producer, seq in detail["records"]
    )


def _spans(held: Iterable[tuple[int, str, int | None]]) -> str:
    """Adjacent records of one write step and epoch as one span: `0-499 together (epoch 0)`."""
    spans: list[tuple[int, int, str, int | None]] = []
    for offset, name, epoch in held:
        if spans and spans[-1][1:] == (offset - 1, name, epoch):
            spans[-1] = (spans[-1][0], offset, name, epoch)
        else:
            spans.append((offset, offset, name, epoch))
    words = []
    for first, last, name, epoch in spans:
        where = f"{first}" if first == last else f"{first}-{last}"
        words.append(f"{where} {name}" + (f" (epoch {epoch})" if epoch is not None and epoch != -1 else ""))
    more = len(words) - _MOST_SPANS
    return "; ".join(words[:_MOST_SPANS] + ([f"and {more} more"] if more > 0 else [])) or "nothing"
