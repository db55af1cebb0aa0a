"""Results as a table for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from checkers import parse_promise
from harness.model.fault_times import (
    BETWEEN_NAMES,
    MAY_HAVE_PASSED,
    UNTIL_THE_END,
    fault_times,
    when_acknowledged,
)
from harness.model.finding_class import Breaks, FindingClass
from harness.model.journal import SendOutcome
from harness.model.partition_words import partition_in_words
from harness.model.result import ArmResult, Example, ExperimentResult, Summary, VerdictWord
from harness.model.run import RunMeta
from harness.report.page.blocks import AnyCell, Cell, Section, Status, Table, text_of
from harness.report.words import sentences_of

_STATUSES: dict[VerdictWord, Status] = {
    VerdictWord.VALID: "good",
    VerdictWord.INVALID: "bad",
    VerdictWord.UNKNOWN: "unclear",
}
_YES_OR_NO = {True: "yes", False: "no", None: "unknown"}
PROMISED = {True: "as promised", False: "not as promised", None: "undecided"}
COLUMNS = (
    *("arm", "sent", "acked", "indeterminate", "lost", "duplicates"),
    *("unavailable s", "verdict", "as promised"),
)
COUNTS = COLUMNS[1:7]
OF_APPLICATIONS = ("processed", "unprocessed", "reprocessed")
"""Further columns, behind `duplicates`, if an arm has an application."""
OF_IDS = ("lost_id", "duplicate_id")
"""Further columns, if records of an arm have ids of their own."""
_ALL_COUNTS = (*COUNTS, *OF_APPLICATIONS, *OF_IDS)
_LEFT_OUT = ("sent", "indeterminate", "unavailable s")
"""Columns without room on a terminal of 80 columns beside further ones."""
_NARROW = (
    ("indeterminate", "indeter-\nminate"),
    ("duplicates", "dupli-\ncates"),
    ("duplicate_id", "dupli-\ncate_id"),
    ("processed", "pro-\ncessed"),
    ("unprocessed", "unpro-\ncessed"),
    ("reprocessed", "repro-\ncessed"),
    ("unavailable s", "unavail-\nable s"),
    ("as promised", "as\npromised"),
)
"""Headers that fit a terminal of 80 columns."""
MOST_BLAME = 5
"""The most sentences of blame below an arm; `summary.json` has all of them."""
ARM_AND_PROMISE = (
    "An arm is one configuration of the experiment. Its promise is what the experiment file says that the "
    "arm does: a control arm may promise a loss, and is then invalid, as expected."
)
"""The note above the first table."""
UNCONFIRMED_NOTE = "(in brackets: unconfirmed sends of acks=0, which no broker acknowledged)"


def columns(arms: Sequence[ArmResult]) -> tuple[str, ...]:
    """The columns of a table of these arms."""
    of_applications = OF_APPLICATIONS if any(arm.meta.application for arm in arms) else ()
    of_ids = OF_IDS if any(arm.meta.ids for arm in arms) else ()
    return (*COLUMNS[:6], *of_applications, *of_ids, *COLUMNS[6:])


def row(
    arm: ArmResult, names: Sequence[str] = COLUMNS, evidence: Mapping[str, Section] | None = None
) -> list[AnyCell]:
    """One arm's row of the columns `names`; dashes where nothing was counted, and in what the final read
    decides if there was none. Each number opens its part of
    the `evidence`, which goes by column, if there is any.

    In brackets, under acked and lost: sends that no broker acknowledged (acks=0), and the number of absent
    ones.
    """
    summary, promised = arm.summary, arm.judgement.as_promised
    numbers = dict.fromkeys(_ALL_COUNTS, "-")
    if summary is not None:
        numbers |= {
            "sent": f"{summary.sent:,}",
            "acked": _or_aside(summary.outcomes.get("acked", 0), summary.outcomes.get("unconfirmed", 0)),
            "indeterminate": f"{summary.outcomes.get('indeterminate', 0):,}",
            "lost": _or_aside(
                summary.count(FindingClass.LOST), summary.count(FindingClass.UNCONFIRMED_ABSENT)
            ),
            "duplicates": f"{summary.count(FindingClass.DUPLICATE):,}",
            "unavailable s": "-"
            if summary.unavailable_seconds is None
            else f"{summary.unavailable_seconds:.1f}",
        }
        if summary.processed is not None:
            numbers["processed"] = f"{summary.processed:,}"
            numbers |= {name: f"{summary.count(FindingClass(name)):,}" for name in OF_APPLICATIONS[1:]}
        if not (arm.meta.read_began and arm.meta.identified):
            numbers |= dict.fromkeys(("lost", "duplicates", *OF_APPLICATIONS), "-")
        if arm.meta.ids is not None and arm.meta.read_began:
            numbers |= {name: f"{summary.count(FindingClass(name)):,}" for name in OF_IDS}
    more = evidence or {}
    cells: dict[str, AnyCell] = {name: Cell(text, more=more.get(name)) for name, text in numbers.items()}
    cells |= {
        "arm": arm.folder,
        "verdict": Cell(arm.judgement.verdict.value, verdict_status(arm)),
        "as promised": Cell(_YES_OR_NO[promised], arm_status(arm), strong=promised is False),
    }
    return [cells[name] for name in names]


def arm_status(arm: ArmResult) -> Status:
    """Whether an arm did as promised; unclear too if it is invalid and as promised."""
    kept = None if expected_findings(arm) else arm.judgement.as_promised
    return "unclear" if kept is None else "good" if kept else "bad"


def verdict_status(arm: ArmResult) -> Status:
    """Whether an arm is valid; unclear too if it is invalid and as promised."""
    return "unclear" if expected_findings(arm) else _STATUSES[arm.judgement.verdict]


def table(result: ExperimentResult) -> Table:
    """The table that a run ends with."""
    names = columns(result.arms)
    if len(names) > len(COLUMNS):
        names = tuple(name for name in names if name not in _LEFT_OUT)
    rows = [row(arm, names) for arm in result.arms]
    title = f"{result.experiment}: {result.title}"
    return Table(
        names,
        rows,
        title="\n".join([title, *expected_lines(result), *_lines_of(result, _sentences)]),
        note=UNCONFIRMED_NOTE if any("(" in text_of(cell) for cells in rows for cell in cells) else "",
        right=_ALL_COUNTS,
        no_wrap=(*_ALL_COUNTS, *COLUMNS[-2:]),
        headers=_NARROW,
    )


def expected_findings(arm: ArmResult) -> str | None:
    """What an arm that is invalid and as promised came to, such as "lost 500, expected"; None: it is not.

    "Expected" is what the promise demands ("acked in alone", ">= 1"), "allowed" what it permits ("any")."""
    if arm.judgement.verdict is not VerdictWord.INVALID or arm.judgement.as_promised is not True:
        return None
    counts = arm.summary.findings if arm.summary is not None else {}
    named = {
        f"{finding.value} {count:,}": _is_demanded(arm.meta.promise.get(finding.value, "any"))
        for finding, count in counts.items()
        if finding.breaks is Breaks.ALWAYS or finding.value in arm.meta.promise
    }
    return f"{', '.join(named) or 'invalid'}, {'expected' if any(named.values()) else 'allowed'}"


def _is_demanded(promise: str) -> bool:
    """Whether a promise is broken if nothing is found."""
    bound = parse_promise(promise)
    return bound.low > 0 or bound.step is not None


def expected_lines(result: ExperimentResult) -> list[str]:
    """ "acks=1: lost 500, expected", one line per arm that is invalid and as promised."""
    return _lines_of(result, expected_findings)


def _lines_of(result: ExperimentResult, tell: Callable[[ArmResult], str | None]) -> list[str]:
    return [f"{arm.folder}: {line}" for arm in result.arms if (line := tell(arm)) is not None]


def _sentences(arm: ArmResult) -> str | None:
    return "; ".join(sentences_of(arm).values()) or None


def explanation(arm: ArmResult, examples: int = 2) -> str:
    """Why one arm got its verdict, its worst examples, and where to look further."""
    lines = [f"{arm.folder}: {arm.judgement.verdict}"]
    expected = expected_findings(arm)
    lines += [f"  - as promised: {expected}"] if expected else []
    lines += [f"  - {reason}" for reason in (*arm.judgement.promise_reasons, *arm.judgement.reasons)]
    open_end = indeterminate_sentence(arm)
    lines += [f"  - {open_end}"] if open_end else []
    lines += [f"  - {line}" for line in (*arm.meta.skipped, *arm.meta.remarks)]
    lines += [f"  {name}: {sentence}" for name, sentence in sentences_of(arm).items()]
    if arm.summary is not None:
        lines += [f"  blame: {line}" for line in arm.summary.blame[:MOST_BLAME]]
        lines += [f"  e.g. {line}" for line in example_lines(arm.summary, arm.meta)[:examples]]
    return "\n".join(lines)


def _of_each_class(summary: Summary, meta: RunMeta) -> tuple[Example, ...]:
    """The examples in the order of `example_lines`."""
    seen: Counter[FindingClass] = Counter()

    def rank(example: Example) -> tuple[bool, int]:
        finding, seen[example.finding] = example.finding, seen[example.finding] + 1
        unordered = finding.breaks is Breaks.WHEN_ORDERED and meta.order == "none"
        return unordered or meta.promise.get(finding.value) == "any", seen[finding]

    return tuple(sorted(summary.examples, key=rank))


def indeterminate_sentence(arm: ArmResult) -> str | None:
    """How many sends have an unknown end, and how many of them the log holds; None: there are none, or it is
    not known."""
    summary, read = arm.summary, arm.meta.final_read
    sends = summary.outcomes.get(SendOutcome.INDETERMINATE, 0) if summary is not None else 0
    held = summary.indeterminate_present if summary is not None else None
    if not sends or held is None or read is None or not read.began:
        return None
    some = "1 send is" if sends == 1 else f"{sends:,} sends are"
    return f"{some} indeterminate, of which the log holds {held:,}"


def example_lines(summary: Summary, meta: RunMeta) -> list[str]:
    """Example findings, one line each, without classes that are always allowed: the first of each class
    before others, and last those of classes that the arm's promise or its client allows."""
    lines = []
    for example in _of_each_class(summary, meta):
        if example.finding.breaks is Breaks.NEVER:
            continue
        faults = faults_of(example, meta)
        faults = f", {faults}" if faults else ""
        # A finding about transactions is about no single record and partition.
        record = f"{example.record}, " if example.record else ""
        of = example.partition
        where = f"{record}{partition_in_words(of)}: " if of is not None else ""
        lines.append(f"{example.finding}: {where}{example.detail}{faults}")
    return lines


def faults_of(example: Example, meta: RunMeta) -> str:
    """The faults of a finding in words: "acknowledged during cut-1, gone after kill-1".

    Of an unprocessed input: the faults while the application may have passed over it; of a vanished record
    without a report: those since it was sent; of a finding that is no loss: those that were open between its
    send and its report. Empty if there were none.
    """
    if example.finding is FindingClass.UNPROCESSED:
        return f"{MAY_HAVE_PASSED} {example.windows}" if example.windows else ""
    if example.finding not in UNTIL_THE_END:
        return f"during {example.windows}" if example.windows else ""
    if example.sent_ns is None or example.closed_ns is None:
        return f"faults since it was sent: {example.windows}" if example.windows else ""
    times = fault_times(meta.windows, example.sent_ns, example.closed_ns)
    ended, still_open, later = (BETWEEN_NAMES.join(names) for names in (times.ended, times.open, times.later))
    if example.finding is FindingClass.LOST:
        when = when_acknowledged(ended, still_open)
        during = f"acknowledged {when}" if when else ""
    else:
        before = BETWEEN_NAMES.join((*times.ended, *times.open))
        during = f"during {before}" if before else ""
    # A lost record that the final read holds is missing from the read of committed records alone.
    missing = f"{'missing' if example.offsets else 'gone'} after {later}" if later else ""
    return ", ".join(part for part in (during, missing) if part)


def three_digits(value: float) -> str:
    """A number for a table: to three digits, or to the next whole number from 100 on."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _or_aside(main: int, unconfirmed: int) -> str:
    if not unconfirmed:
        return f"{main:,}"
    return f"{main:,} ({unconfirmed:,})" if main else f"({unconfirmed:,})"
