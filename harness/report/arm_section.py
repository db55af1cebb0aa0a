"""The section about one arm, on the pages of experiments and of matrices, and the evidence for each number of
the arms' table: how it is composed, examples, and the files with all of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path

from markupsafe import Markup

from harness.model.application_journal import OUTPUTS_DIR
from harness.model.finding_class import FindingClass
from harness.model.journal import FINDINGS_DIR, SENDS_DIR, SUMMARY_FILE
from harness.model.result import ArmResult, Summary
from harness.model.run import RunMeta
from harness.report import arm_tables, arms_table, versions
from harness.report.cycle_drawing import cycles_section
from harness.report.page.blocks import Block, Cell, Drawing, Lines, Section, Table, Text, section
from harness.report.page.html import environment
from harness.report.timeline import Timeline, read_timeline
from harness.report.timeline_chart import Chart, lay_out
from harness.report.timeline_rows import GEOMETRY, broker_class
from harness.report.words import WORDS, moments_of, sentences_of

MOST_COUNTS = 100
MOST_BLAME = 20
MOST_ROWS, MOST_EXAMPLES = 8, 3
_PLACES = (
    "`overwritten`: another record is at the acknowledged offset; `tail`: the log ends before it; `unknown`: "
    "neither of the two."
)
_DEFAULT = (
    "no lost, phantom, corrupt or misplaced record, none present although it was rejected, and no duplicate "
    "of an idempotent producer"
)


def arm_section(arm: ArmResult, folder: Path, number: int) -> Section:
    """The section about an arm, the page's `number`-th; its journals are read from `folder`/<arm.folder>."""
    judgement = arm.judgement
    expected = arms_table.expected_findings(arm)
    verdict = f"verdict: {judgement.verdict.value}{f' ({expected})' if expected else ''}"
    promises = ", ".join(f"`{name}: {bound}`" for name, bound in arm.meta.promise.items())
    sentence = arms_table.indeterminate_sentence(arm)
    said = [*([sentence] if sentence else []), *arm.meta.remarks]
    reasons = (*judgement.promise_reasons, *judgement.reasons, *said)
    when = _what_happened(arm, read_timeline(folder / arm.folder, arm.meta), number)
    return section(
        arm.folder,
        Text(
            f"Promise: {promises}; the default for everything else ({_DEFAULT})."
            if promises
            else f"No promise was written. Expected by default: {_DEFAULT}."
        ),
        section("Why this judgement", Lines(reasons or ("No reason was given.",))),
        section("What happened when", *when),
        section("What was found", *_what_was_found(arm)),
        id=f"arm-{number}",
        badges=(
            Cell(arms_table.PROMISED[judgement.as_promised], arms_table.arm_status(arm)),
            Cell(verdict, arms_table.verdict_status(arm)),
        ),
        only="html",
    )


def _what_happened(arm: ArmResult, timeline: Timeline, number: int) -> Iterator[Block]:
    meta, summary = arm.meta, arm.summary
    if any(timeline.sends) or timeline.strips:
        chart = lay_out(timeline, meta)
        yield Drawing(_drawn(chart, timeline, arm, number), key=tuple(_key(chart, timeline)))
        yield Text(_about_the_drawing(timeline, meta), note=True)
    else:
        yield Text("The timeline is left out, because its journals are missing or cannot be read.")
    yield section("Lost records and duplicates over time", arm_tables.moments(timeline, meta), folded=True)
    yield section("Rebalances of consumer groups", arm_tables.rebalances(timeline, meta), folded=True)
    if summary is not None:
        yield from chain.from_iterable(words.counts(summary) for words in WORDS)
    yield Lines(timeline.problems, look="note")
    yield arm_tables.windows(meta) if meta.windows else Text("No fault was injected.")
    yield versions.changes(meta)
    yield versions.by_version(arm)
    yield from chain.from_iterable(words.events(meta) for words in WORDS)
    yield arm_tables.leader_changes(timeline)


def _drawn(chart: Chart, timeline: Timeline, arm: ArmResult, number: int) -> Markup:
    template = environment("harness.report").get_template("timeline.svg.j2")
    text = _in_words(timeline, arm.meta)
    return Markup(template.render(chart=chart, g=GEOMETRY, number=number, folder=arm.folder, text=text))


def _key(chart: Chart, timeline: Timeline) -> Iterator[tuple[str, str]]:
    drawn = {row.label for row in chart.mark_rows}
    yield from (("sends-key", "sends"), ("successes-key", "success reports"), ("errors-key", "error reports"))
    for label, kind, text in (
        ("lost", "lost-mark", "lost records"),
        ("dupl.", "duplicates-mark", "duplicates"),
        ("rebal.", "rebalanced-mark", "partitions changing owners"),
        ("exit", "exit-mark", "the application ended by itself"),
    ):
        if label in drawn:
            yield kind, text
    yield from (("fault-key", "fault open"), ("isr-key", "ISR size"))
    for broker in sorted({span.leader for strip in timeline.strips for span in strip.spans}):
        yield broker_class(broker), "no leader" if broker < 0 else f"broker {broker} leads"


def _about_the_drawing(timeline: Timeline, meta: RunMeta) -> str:
    shown = len(timeline.strips)
    some = f" {shown} of {meta.partitions} partitions are shown." if 0 < shown < meta.partitions else ""
    return (
        f"Records per second in buckets of {timeline.bucket_ns / 1e6:g} ms, on a square-root scale, so that "
        "a burst does not flatten the rest. Time counts from the start of the run. Below the write steps, "
        "each partition (p0, p1, ...): its leader as the brokers reported it, a line where it had success "
        f"reports, and the size of its ISR.{some}"
    )


def _in_words(timeline: Timeline, meta: RunMeta) -> str:
    """A description of the drawing in words, for screen readers."""
    parts = [
        f"{sum(timeline.sends):,} sends, {sum(timeline.successes):,} success reports and "
        f"{sum(timeline.errors):,} error reports over {timeline.seconds:.0f} seconds."
    ]
    for name, target, opened, closed, *_ in arm_tables.windows(meta).rows:
        parts.append(f"The fault {name} on {target} was open from {opened} to {closed}.")
    for kind, counts in (("lost", timeline.lost), ("duplicate", timeline.duplicates)):
        buckets = [number for number, count in enumerate(counts) if count]
        if buckets:
            seconds = timeline.bucket_ns / 1e9
            span = f"from {buckets[0] * seconds:.2f} s to {(buckets[-1] + 1) * seconds:.2f} s"
            parts.append(f"{sum(counts):,} {kind} records are marked {span}.")
    if any(timeline.rebalances):
        parts.append(f"{sum(timeline.rebalances):,} changes of the owners of partitions are marked.")
    parts += [f"The application {moment.words}." for moment in moments_of(meta)]
    for strip in timeline.strips:
        leaders = [span.leader for span in strip.spans]
        order = [who for n, who in enumerate(leaders) if n == 0 or who != leaders[n - 1]]
        words = ", then ".join("no broker" if who < 0 else f"broker {who}" for who in order[:12])
        parts.append(f"Partition {strip.partition} was led by {words}.")
    return " ".join(parts)


def _what_was_found(arm: ArmResult) -> Iterator[Block]:
    meta, summary = arm.meta, arm.summary
    if summary is None:
        yield Text("The journals were not checked, so nothing was counted.")
    elif not summary.counts:
        yield Text("No finding: every record that was sent and read is accounted for.")
    else:
        counts = arm_tables.counts(summary, meta)
        hidden = len(counts.rows) - MOST_COUNTS
        note = f"{hidden} smaller rows are in `{arm.folder}/{SUMMARY_FILE}`." if hidden > 0 else ""
        yield replace(counts, rows=counts.rows[:MOST_COUNTS], note=note)
    if summary is not None and summary.lost_places:
        places = ", ".join(f"{count:,} {place}" for place, count in summary.lost_places.items())
        yield Text(f"Places of the lost records: {places}. {_PLACES}")
    yield from (Text(f"The {name}: {sentence}.") for name, sentence in sentences_of(arm).items())
    if summary is not None:
        yield Lines(summary.blame[:MOST_BLAME])
        yield arm_tables.examples(summary, meta)
        yield cycles_section(summary)
    yield arm_tables.settings(meta.producer_config, "Client settings")
    topic = arm_tables.settings(meta.topic_config)
    yield section("Topic settings, defaults included", topic, folded=True)


def cell_evidence(arm: ArmResult) -> dict[str, Section]:
    """One section for each number of `harness.report.arms_table.row`, by column; none without a summary.
    Each says how the number is composed, and which files in the arm's folder hold all of it."""
    summary = arm.summary
    if summary is None:
        return {}
    sends = f"`{arm.folder}/{SENDS_DIR}/` has a row for each send"
    outcomes = [f"{count:,} {name}" for name, count in summary.outcomes.items()]
    acked = [f"write step {name}: {count:,}" for name, count in summary.acked_by_step.items()]
    recovered = f"{summary.count(FindingClass.RECOVERED):,} of the sends without a clear report"
    longest = "The longest time in a write step in which a partition had no success report."
    reported = f"{sends}; closed_ns is the time of its report. The timeline draws them."
    evidence: list[tuple[Block, ...]] = [
        (Lines(outcomes), Text(f"{sends}.", note=True)),
        (Lines(acked), Text(f"{sends}; its outcome is acked, or unconfirmed under acks=0.", note=True)),
        (
            Text(f"{recovered} are in the log all the same (recovered)."),
            Text(f"{sends}; its outcome is indeterminate.", note=True),
        ),
        _findings(arm, summary, FindingClass.LOST, FindingClass.UNCONFIRMED_ABSENT),
        _findings(arm, summary, FindingClass.DUPLICATE),
        (Text(longest), Text(reported, note=True)),
    ]
    of = dict(zip(arms_table.COUNTS, evidence, strict=True))
    if summary.processed is not None:
        sentence = (
            f"Of {summary.inputs:,} inputs that it had to process, {summary.processed:,} have their outputs."
        )
        where = f"`{arm.folder}/{OUTPUTS_DIR}/` has a row for each output and input that made it."
        of["processed"] = (Text(sentence), Text(where, note=True))
        of |= {name: _findings(arm, summary, FindingClass(name)) for name in arms_table.OF_APPLICATIONS[1:]}
    if arm.meta.ids is not None:
        of |= {name: _findings(arm, summary, FindingClass(name)) for name in arms_table.OF_IDS}
    return {name: section(f"{arm.folder}: {name}", *blocks) for name, blocks in of.items()}


def _findings(arm: ArmResult, summary: Summary, *classes: FindingClass) -> tuple[Block, ...]:
    names = [finding.value for finding in classes]
    rows = [row for row in arm_tables.counts(summary, arm.meta).rows if row[0] in names]
    examples = [
        ": ".join(filter(None, (f"{example.record[:1].upper()}{example.record[1:]}", example.detail)))
        for example in summary.examples
        if example.finding in classes
    ]
    where = f"`{arm.folder}/{FINDINGS_DIR}/` has a row for each finding; its class is {' or '.join(names)}."
    return (
        Lines(examples[:MOST_EXAMPLES]),
        Text("" if rows or examples else "There is no such finding."),
        Text(where, note=True),
        Table(("class", "partition", "write step", "faults", "records"), rows[:MOST_ROWS]),
    )
