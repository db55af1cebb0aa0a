"""Tables about one arm."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from harness.model.partition_words import NO_PARTITION
from harness.model.result import Summary
from harness.model.run import RunMeta
from harness.report.arms_table import faults_of
from harness.report.page.blocks import Table, grid
from harness.report.run_times import open_between, since_start
from harness.report.timeline import Timeline
from harness.report.timeline_rows import FoundSpan, found_spans

MOST_CHANGES = 40
"""The most rows of the table of leader changes."""

_MOMENTS = (
    "Lost records and duplicates are drawn when their success report came (without one: when they were "
    "sent); the height is the number of records, on a square-root scale."
)


def windows(meta: RunMeta) -> Table:
    """The faults of a run."""
    rows = (
        {
            "fault": window.name,
            "target": window.target,
            "from": since_start(window.opened_ns, meta),
            "to": since_start(window.closed_ns, meta) if window.closed_ns is not None else "never healed",
            "took effect": "yes" if window.verified else "no",
            "evidence": window.evidence or "none",
        }
        for window in meta.windows
    )
    return Table(*grid(rows), title="Faults", cards=True)


def moments(timeline: Timeline, meta: RunMeta) -> Table:
    """The meaning of the bars on the timeline."""
    rows = (
        {"class": kind, **_stretch(span, meta, "records")}
        for kind, counts in (("lost", timeline.lost), ("duplicates", timeline.duplicates))
        for span in found_spans(timeline, counts)
    )
    undated = f" {timeline.undated:,} of them have no time within the run and are not drawn."
    return Table(*grid(rows), note=f"{_MOMENTS}{undated if timeline.undated else ''}")


def rebalances(timeline: Timeline, meta: RunMeta) -> Table:
    """When partitions changed owners."""
    spans = found_spans(timeline, timeline.rebalances)
    return Table(*grid(_stretch(span, meta, "partitions assigned or taken") for span in spans))


def _stretch(span: FoundSpan, meta: RunMeta, what: str) -> dict[str, str]:
    return {
        "from": since_start(span.from_ns, meta),
        "to": since_start(span.to_ns, meta),
        what: f"{span.count:,}",
        "faults open then": open_between(span.from_ns, span.to_ns, meta),
    }


def leader_changes(timeline: Timeline) -> Table:
    """The changes of leaders, the first `MOST_CHANGES` of them."""
    rows = []
    for strip in timeline.strips:
        for before, after in zip(strip.spans, strip.spans[1:], strict=False):
            if (before.leader, before.epoch) != (after.leader, after.epoch):
                at = (after.from_ns - timeline.origin_ns) / 1e9
                change = f"{_leader(before.leader)} to {_leader(after.leader)}"
                rows.append((at, strip.partition, change, f"{before.epoch} to {after.epoch}"))
    return Table(
        ("at", "partition", "leader", "leader epoch"),
        [
            (f"{at:.1f} s", str(partition), change, epochs)
            for at, partition, change, epochs in sorted(rows)[:MOST_CHANGES]
        ],
        title="Leader changes as sampled",
    )


def counts(summary: Summary, meta: RunMeta) -> Table:
    """The number of findings over all producers, the largest first."""
    totals: Counter[tuple[str, ...]] = Counter()
    for row in summary.counts:
        step = "not known" if row.step is None else meta.step_name(row.step)
        partition = _partition(row.partition, "not known")
        totals[row.finding.value, partition, step, row.windows or "none"] += row.count
    order = sorted(totals.items(), key=lambda item: (-item[1], item[0]))
    faults = (
        "faults open from send to report (lost, vanished: since the send; unprocessed, reprocessed: while "
        "the application may have passed over it or repeated it)"
    )
    return Table(
        ("class", "partition", "write step", faults, "records"),
        [(*key, f"{count:,}") for key, count in order],
        title="Records by class of finding",
    )


def examples(summary: Summary, meta: RunMeta) -> Table:
    """A few findings with their evidence."""
    read = meta.final_read is not None and bool(meta.final_read.replicas_inspected)
    keyed = any(example.key_text is not None for example in summary.examples)
    rows = (
        {
            "class": example.finding.value,
            "what it means": example.detail,
            "producer / seq": f"{_text_or(example.producer, '?')} / {_text_or(example.seq, '?')}",
            **({"key": _text_or(example.key_text, "none")} if keyed else {}),
            **({"id": _text_or(example.id, "none")} if meta.ids is not None else {}),
            "partition": _partition(example.partition, "?"),
            "acked offset": _text_or(example.acked_offset, "none"),
            "read at offsets": ", ".join(map(str, example.offsets)) or "none",
            "outcome": _text_or(example.outcome, "none") + (f" ({example.error})" if example.error else ""),
            "sent": since_start(example.sent_ns, meta) if example.sent_ns is not None else "?",
            "report": since_start(example.closed_ns, meta) if example.closed_ns is not None else "none",
            "faults": faults_of(example, meta) or "none",
            "in the files of broker": ", ".join(map(str, example.held_by))
            or ("none" if read else "not read"),
        }
        for example in summary.examples
    )
    return Table(*grid(rows), title="The worst few of each class", look="examples", cards=True)


def settings(values: Mapping[str, object], title: str = "") -> Table:
    """Names of settings with their values."""
    rows = [(name, str(value)) for name, value in values.items()]
    return Table(("property", "value"), rows, title=title)


def _leader(broker: int) -> str:
    return "no leader" if broker < 0 else f"broker {broker}"


def _partition(partition: int | None, otherwise: str) -> str:
    """The number of a partition; of a send of which the client said none, that."""
    return "not named by the client" if partition == NO_PARTITION else _text_or(partition, otherwise)


def _text_or(value: object, otherwise: str) -> str:
    return otherwise if value is None else str(value)
