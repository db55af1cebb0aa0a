"""What tasks that write findings need, and the list of these tasks, for a run whose facts are known."""

from __future__ import annotations

from dataclasses import replace

from checkers.checks.run import attempt
from checkers.facts.columns import WIDTH
from checkers.facts.deliveries import SHARE_ROWS, Unit
from checkers.facts.encoding import spot_number
from checkers.facts.measure import RunFacts
from checkers.facts.replicas import ReplicaLog
from checkers.finding_tasks import (
    FindingsContext,
    FindingTask,
    OfBlock,
    OfDeliveries,
    OfGroup,
    OfReplicas,
    OfShare,
    OfValues,
)
from checkers.findings.application_history import ApplicationHistory, read_application
from checkers.findings.delivery_findings import units_of
from checkers.findings.evidence import RunNames
from checkers.findings.leadership_history import LeadershipHistory, read_leadership
from checkers.findings.output_findings import OutputNames
from checkers.findings.progress_findings import group_files
from checkers.findings.record_context import LogBounds, Policy
from checkers.findings.share_findings import ShareFiles
from checkers.journals.footers import row_groups
from checkers.journals.load import RunJournals
from checkers.judgement.policy import retention
from checkers.output_tasks import output_tasks
from harness.model.storage import StoragePath

_GROUPS = 16
"""Row groups with damaged values that one task reads."""


def findings_context(
    journals: RunJournals, facts: RunFacts, target: StoragePath
) -> tuple[FindingsContext, list[str]]:
    """What the tasks that write findings need, and the problem if the brokers' samples cannot be read."""
    meta, files, topics = journals.meta, journals.files, facts.context.topics
    leadership, problem = attempt("blame", lambda: read_leadership(files.samples, meta.topic))
    final = meta.final_read
    bounds = tuple(
        LogBounds(
            spot_number(bound.topic, bound.partition, topics),
            bound.leader,
            bound.log_start_offset,
            bound.end_offset,
        )
        for bound in (final.bounds if final else ())
    )
    policy = Policy(
        newest_deletable_ns=retention(meta.topic_config, meta.cluster.properties).newest_deletable_ns(
            final.finished_ns if final else None
        ),
        compacts=facts.context.compacts,
        transactional=facts.context.transactional,
        deleted_before=max((one.before for one in meta.deletions if one.before is not None), default=None),
        recreated_ns=max((one.at_ns for one in meta.deletions if one.before is None), default=None),
    )
    context = FindingsContext(
        run=facts.context,
        names=RunNames(
            run=meta.run_id,
            topics=topics,
            readers=tuple(reader.name for reader in journals.readers),
            windows=tuple(meta.windows),
            leadership=leadership or LeadershipHistory(()),
        ),
        bounds=bounds,
        policy=policy,
        final=tuple(row_groups(files.final, identities=False)),
        blocks=facts.blocks,
        replicas_read=bool(files.replicas),
        newest_on_spark=False,
        target=str(target),
    )
    problems = [problem] if problem else []
    if facts.outputs is not None:
        history, problem = attempt(
            "blame", lambda: read_application(files.application, topics.index(meta.topic))
        )
        problems += [problem] if problem else []
        names = OutputNames(topics, tuple(meta.windows), history or ApplicationHistory())
        context = replace(context, outputs=names)
    return context, problems


def finding_tasks(journals: RunJournals, facts: RunFacts, context: FindingsContext) -> list[FindingTask]:
    """Tasks for the records of blocks, damaged values, deliveries and replicas."""
    files = journals.files
    tasks = [FindingTask(f"{number:06}", OfBlock(number)) for number in facts.selected]
    bad = {spot: ranges for spot, ranges in facts.held.bad.items() if len(ranges.start)}
    damaged = [
        group
        for group in context.final
        if any(
            group.may_hold(spot % WIDTH, int(ranges.start[0]), int(ranges.end[-1]))
            for spot, ranges in bad.items()
        )
    ]
    tasks += output_tasks(journals.files.outputs, facts.outputs)
    tasks += [
        FindingTask(f"values-{number:06}", OfValues(tuple(damaged[begin : begin + _GROUPS])))
        for number, begin in enumerate(range(0, len(damaged), _GROUPS))
    ]
    commits = tuple(file.path for file in files.commits)
    progress = group_files(journals)
    silent: list[Unit] = []
    for number, unit in enumerate(units_of(journals)):
        parts = max(1, -(-unit.rows // SHARE_ROWS))
        tasks += [
            FindingTask(f"deliveries-{number:04}-{part:04}", OfDeliveries(unit, part, parts, commits))
            for part in range(parts)
        ]
        if unit.group and unit.rows:
            tasks += [
                FindingTask(f"groups-{number:04}-{part:04}", OfGroup((unit,), part, parts, progress))
                for part in range(parts)
            ]
        elif unit.group:
            silent.append(unit)
    # Steps may commit for very many groups that read nothing: one task reads the journals once for all.
    if silent:
        tasks.append(FindingTask("groups-silent", OfGroup(tuple(silent), 0, 1, progress)))
    if journals.meta.share:
        share = ShareFiles(
            *(
                tuple(file.path for file in one)
                for one in (files.deliveries, files.share_offsets, files.share_events)
            )
        )
        brokers = journals.meta.cluster.properties
        tasks += [
            FindingTask(f"share-{number:04}", OfShare(info, share, tuple(brokers.items())))
            for number, info in enumerate(journals.meta.share)
        ]
    if files.replicas and context.bounds:
        groups = row_groups(files.replicas, identities=False)
        logs = [ReplicaLog.of(bound.spot, bound.leader, bound.end_offset, groups) for bound in context.bounds]
        tasks += [
            FindingTask(f"replicas-{number:06}", OfReplicas(log))
            for number, log in enumerate(logs)
            if log.groups
        ]
    return tasks
