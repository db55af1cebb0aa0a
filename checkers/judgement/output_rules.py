"""What an application promises of its outputs, from a run's metadata."""

from __future__ import annotations

from checkers.facts.outputs import OutputRules
from checkers.judgement.policy import compacts, retention
from harness.model.run import RunMeta


def output_rules(meta: RunMeta) -> OutputRules | None:
    """The rules for the outputs of a run's application; None: it has none."""
    application, final = meta.application, meta.final_read
    if application is None:
        return None
    brokers = meta.cluster.properties
    return OutputRules(
        committed_only=application.guarantee == "exactly-once",
        per_input=application.outputs_per_input,
        order=application.order,
        complete=application.drained and application.read_complete,
        starts={
            (bound.topic, bound.partition): bound.log_start_offset
            for bound in (final.bounds if final else ())
        },
        newest_deletable_ns=retention(meta.topic_config, brokers).newest_deletable_ns(
            final.finished_ns if final else None
        ),
        compacts=compacts(meta.topic_config, brokers),
        deleted_before=max((one.before for one in meta.deletions if one.before is not None), default=None),
        recreated_ns=max((one.at_ns for one in meta.deletions if one.before is None), default=None),
        deleted_ns=max((one.at_ns for one in meta.deletions), default=None),
    )
