"""Findings about share groups (KIP-932), and counts of their deliveries and acknowledgements."""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from itertools import chain

from pyspark.sql import functions as F

from checkers.classes.classify import attempt
from checkers.evidence.leadership import leader_changes, leader_spans
from checkers.found import Found
from checkers.groups.anomalies import BY_PARTITION
from checkers.groups.by_partition import anomaly_findings, apply_rules, kinds_and_problems, with_journal
from checkers.journals.created_again import of_topics, since_created
from checkers.journals.footers import row_count
from checkers.journals.offset_chunks import bits_of, chunk_of, offset_chunks
from checkers.journals.views import Scratch, Views
from checkers.share import classes
from checkers.share.deliveries import ShareGroup, disruptions_of
from checkers.share.rules import share_rules
from harness.model.result import ShareCount
from harness.model.run import ShareInfo

_UNKNOWN_TOPIC = -(2**32)


def find(views: Views, scratch: Scratch) -> Found:
    """Findings about the share groups of a run, and of the summary `shares`; journals that are not whole are
    problems."""
    shares, problem = attempt("share groups", lambda: share_counts(views))
    return _find(views, scratch).with_problems(problem).with_summary(shares=shares or ())


def _find(views: Views, scratch: Scratch) -> Found:
    infos = views.meta.share
    if not infos or not any(row_count(views.files[name]) for name in ("deliveries", "share_offsets")):
        missing = (_missing(info, 0, start_known=False) for info in infos)
        return Found(problems=tuple(chain.from_iterable(missing)))
    of_groups = F.col("group").isin(*(info.group for info in infos))
    # A topic that the run does not know has no number; its partitions get numbers that no others have.
    number = F.coalesce("topic_partition", F.lit(_UNKNOWN_TOPIC) + F.col("partition"))
    deliveries = of_topics(views, views.journal("deliveries").where(of_groups), "acquired_ns")
    deliveries = deliveries.withColumn("topic_partition", number)
    # A group begins anew in a topic that was created again.
    answers = views.journal("share_offsets").where(of_groups & F.col("error").isNull())
    answers = since_created(views, answers, "asked_ns")
    answers = answers.withColumn("topic_partition", number)
    answered = F.broadcast(answers.select(*BY_PARTITION).distinct())
    log = offset_chunks(views.reads, "topic_partition").join(answered, "topic_partition")
    of_deliveries = (
        *("member", "session", "offset", "delivery_count", "producer", "seq", "acknowledgement", "error"),
        *("asked_ns", "acquired_ns", "acknowledged_ns", "answered_ns"),
    )
    journals = [
        with_journal("deliveries", deliveries, *of_deliveries),
        with_journal("share_offsets", answers, "start_offset", "lag", "at_ns"),
        with_journal("log", log, "chunk", "bits"),
    ]
    rules = partial(share_rules, groups=_share_groups(views))
    rows = scratch.materialize("share-anomalies", apply_rules(rules, journals))
    kinds, failed = kinds_and_problems(rows, "share groups")
    journaled = {row.group: row["count"] for row in deliveries.groupBy("group").count().collect()}
    started = answers.where(F.col("start_offset").isNotNull()).select("group").distinct().collect()
    # A group to which nothing at all was delivered has no start offset, which is a finding of its own.
    known = {row.group for row in started} | {group for group, kind in kinds if kind == "share_stuck"}
    problems: list[str] = []
    for info in infos:
        problems += _missing(info, journaled.get(info.group, 0), start_known=info.group in known)
        problems += [problem for group, problem in failed if group == info.group]
    if not kinds:
        return Found(problems=tuple(problems))
    return anomaly_findings(rows, classes.CLASSES, views).with_problems(*problems)


def _share_groups(views: Views) -> dict[str, ShareGroup]:
    """The share groups of a run by group.id."""
    events = defaultdict(list)
    for row in views.journal("share_events").select("group", "at_ns", "event", "member").collect():
        events[row.group].append((row.at_ns, row.event, row.member))
    disruptions = partial(
        disruptions_of,
        windows=views.meta.windows,
        leader_changes=leader_changes(leader_spans(views.samples, views.meta.topic)),
        properties=views.meta.cluster.properties,
    )
    return {info.group: ShareGroup(info, disruptions(events[info.group])) for info in views.meta.share}


def _missing(info: ShareInfo, deliveries: int, *, start_known: bool) -> list[str]:
    """What the journals lack of a share group; `deliveries` is the number in the journal, `start_known`: an
    answer has the group's start offset."""
    problems = []
    if info.closed and info.deliveries != deliveries:
        problems.append(
            f"the journal of deliveries holds {deliveries:,} of share group '{info.name}', its members say "
            f"{info.deliveries:,}, so the verdict is unknown"
        )
    if not start_known:
        problems.append(
            f"it is not known where share group '{info.name}' begins at the end, so the verdict is unknown"
        )
    return problems


def share_counts(views: Views) -> tuple[ShareCount, ...]:
    """The counts of each share group of the run."""
    infos = views.meta.share
    if not infos:
        return ()
    acknowledgement, answered = F.col("acknowledgement"), F.col("answered_ns").isNotNull()
    succeeded = answered & F.col("error").isNull()
    counted = {
        "deliveries": F.lit(True),
        "accepted": succeeded & (acknowledgement == "accept"),
        "released": succeeded & (acknowledgement == "release"),
        "rejected": succeeded & (acknowledgement == "reject"),
        "failed": answered & F.col("error").isNotNull(),
        "unanswered": ~answered & acknowledgement.isNotNull(),
    }
    # Records are counted as bits of offset chunks, so that no list of offsets is kept.
    offset = F.col("offset")
    chunks = (
        of_topics(views, views.journal("deliveries"), "acquired_ns")
        .groupBy("group", "topic_partition", chunk_of(offset).alias("chunk"))
        .agg(
            F.bit_count(F.bit_or(bits_of(offset))).alias("records"),
            *(F.count_if(condition).alias(name) for name, condition in counted.items()),
        )
    )
    groups = chunks.groupBy("group").agg(*(F.sum(name).alias(name) for name in ("records", *counted)))
    by_group = {row.group: row.asDict() for row in groups.collect()}
    nothing = dict.fromkeys(("records", *counted), 0)
    return tuple(
        ShareCount.model_validate({**nothing, **by_group.get(info.group, {}), "group": info.name})
        for info in infos
    )
