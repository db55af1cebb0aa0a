"""Tables of the report: rows of text, one text per column; the template has the headers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from harness.model.result import Summary
from harness.model.run import RunMeta
from harness.report.table import faults_of
from harness.report.timeline import Timeline
from harness.report.timeline_chart import FoundSpan, found_spans, rebalance_spans

MOST_CHANGES = 40
"""The most rows of the table of leader changes."""

TableRows = tuple[tuple[str, ...], ...]


def windows(meta: RunMeta) -> TableRows:
    return tuple(
        (
            window.name,
            window.target,
            _since(window.opened_ns, meta),
            _since(window.closed_ns, meta) if window.closed_ns is not None else "never healed",
            "yes" if window.verified else "no",
            window.evidence or "none",
        )
        for window in meta.windows
    )


def moments(timeline: Timeline, meta: RunMeta) -> TableRows:
    """Rows of class, from, to, records and open faults: what the bars on the timeline stand for."""
    return _rows_of(found_spans(timeline), timeline, meta)


def rebalances(timeline: Timeline, meta: RunMeta) -> TableRows:
    """Rows of from, to, partitions that changed owners, and open faults."""
    return tuple(row[1:] for row in _rows_of(rebalance_spans(timeline), timeline, meta))


def ownerless(summary: Summary) -> TableRows:
    """Rows of group, partition, the seconds without an owner and the longest of them."""
    return tuple(
        (one.group, str(one.partition), f"{one.seconds:.1f}", f"{one.longest:.1f}")
        for one in summary.ownerless
    )


def shares(summary: Summary) -> TableRows:
    """Rows of share group, records and deliveries, and what became of the deliveries."""
    return tuple(
        (
            one.group,
            *(f"{number:,}" for number in (one.records, one.deliveries, one.accepted, one.released)),
            *(f"{number:,}" for number in (one.rejected, one.failed, one.unanswered)),
        )
        for one in summary.shares
    )


def _rows_of(spans: Iterable[FoundSpan], timeline: Timeline, meta: RunMeta) -> TableRows:
    rows = []
    for span in spans:
        from_ns, to_ns = (timeline.origin_ns + int(at * 1e9) for at in (span.from_s, span.to_s))
        faults = [
            window.name
            for window in meta.windows
            if window.opened_ns < to_ns and (window.closed_ns is None or window.closed_ns >= from_ns)
        ]
        open_then = ", ".join(faults) or "none"
        rows.append((span.kind, f"{span.from_s:.2f} s", f"{span.to_s:.2f} s", f"{span.count:,}", open_then))
    return tuple(rows)


def leader_changes(timeline: Timeline) -> TableRows:
    rows = []
    for strip in timeline.strips:
        for before, after in zip(strip.spans, strip.spans[1:], strict=False):
            if (before.leader, before.epoch) != (after.leader, after.epoch):
                at = (after.from_ns - timeline.origin_ns) / 1e9
                change = f"{_leader(before.leader)} to {_leader(after.leader)}"
                rows.append((at, strip.partition, change, f"{before.epoch} to {after.epoch}"))
    return tuple(
        (f"{at:.1f} s", str(partition), change, epochs)
        for at, partition, change, epochs in sorted(rows)[:MOST_CHANGES]
    )


def counts(summary: Summary, meta: RunMeta) -> TableRows:
    """Rows of class, partition, write step, open faults and count over all producers, the largest count
    first."""
    names = {step.index: step.name for step in meta.steps}
    totals: Counter[tuple[str, ...]] = Counter()
    for row in summary.counts:
        step = "not known" if row.step is None else names.get(row.step, f"step {row.step}")
        totals[(row.finding.value, _text_or(row.partition, "not known"), step, row.windows or "none")] += (
            row.count
        )
    order = sorted(totals.items(), key=lambda item: (-item[1], item[0]))
    return tuple((*key, f"{count:,}") for key, count in order)


def examples(summary: Summary, meta: RunMeta) -> TableRows:
    read = meta.final_read is not None and bool(meta.final_read.replicas_inspected)
    no_replica = "none" if read else "not read"
    return tuple(
        (
            example.finding.value,
            example.detail,
            f"{_text_or(example.producer, '?')} / {_text_or(example.seq, '?')}",
            _text_or(example.partition, "?"),
            _text_or(example.acked_offset, "none"),
            ", ".join(map(str, example.offsets)) or "none",
            _text_or(example.outcome, "none") + (f" ({example.error})" if example.error else ""),
            _since(example.sent_ns, meta) if example.sent_ns is not None else "?",
            _since(example.closed_ns, meta) if example.closed_ns is not None else "none",
            faults_of(example, meta) or "none",
            ", ".join(map(str, example.held_by)) or no_replica,
        )
        for example in summary.examples
    )


def _since(at_ns: int, meta: RunMeta) -> str:
    """Seconds since the run's start, as on the timeline's axis."""
    return f"{(at_ns - meta.started_ns) / 1e9:.2f} s"


def _leader(broker: int) -> str:
    return "no leader" if broker < 0 else f"broker {broker}"


def _text_or(value: object, otherwise: str) -> str:
    return otherwise if value is None else str(value)
