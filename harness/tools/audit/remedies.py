"""What an audit advises about the findings of a run."""

from __future__ import annotations

from collections.abc import Iterator

from harness.model.config.properties import PropertyLine
from harness.model.fault_times import WITHOUT_FAULT
from harness.model.finding_class import FindingClass
from harness.model.result import FALSE_REPORTS, ArmResult, VerdictWord
from harness.model.run import UNKNOWN_CLUSTER
from harness.tools.audit.audit import audit
from harness.tools.audit.kafka_version import version_or_newest
from harness.tools.audit.known_settings import ClientLibrary

_LIBRARY = {"librdkafka": ClientLibrary.LIBRDKAFKA, "java": ClientLibrary.JAVA, "driven": ClientLibrary.JAVA}
"""Whose names and defaults the settings of a run have, by `RunMeta.client`; of others the audit finds out."""

_IN_FLIGHT = "max.in.flight.requests.per.connection"
_CLIENT = (
    "against lost: several success reports name one offset, so look at what the client takes for a success: "
    "a broker answers a sequence number that it has already seen with the offset of the earlier batch"
)
_TWICE = (
    "against duplicate_id: do not send an id again while its first send has no report; let the client try "
    "again (idempotent), or let those who read the records drop ids that they have seen"
)


def remedies(arm: ArmResult) -> tuple[str, ...]:
    """What to change in the settings of an arm whose verdict is `invalid`: of each rule of the audit that
    applies to them and explains a class of findings that the run has. Against findings about outputs for
    which no fault can be the reason, a control run is offered.

    What is deleted as the topic says needs no remedy. Only what is known counts: an imported history says
    nothing of topic and brokers, and of a cluster that is not ours the settings that are not in the run's
    metadata are unknown.
    """
    if arm.summary is None or arm.judgement.verdict is not VerdictWord.INVALID:
        return ()
    meta = arm.meta
    settings = {
        **meta.cluster.properties,
        **meta.topic_config,
        **({} if meta.cluster == UNKNOWN_CLUSTER else {"replication.factor": str(meta.replication_factor)}),
        **meta.producer_config,
        "acks": meta.acks,
        "enable.idempotence": str(meta.idempotent).lower(),
        **({} if meta.max_in_flight is None else {_IN_FLIGHT: str(meta.max_in_flight)}),
    }
    entries = [PropertyLine(name, value, "run.json", 0) for name, value in settings.items()]
    image = meta.cluster.image
    audited = audit(
        entries,
        _LIBRARY.get(meta.client),
        version_or_newest(image.kafka_version),
        server_defaults=image.origin != UNKNOWN_CLUSTER.image.origin,
    )
    lost, doubts = arm.summary.count(FindingClass.LOST), arm.summary.same_offset
    # Settings do not help against reports that were false.
    no_use = {FindingClass.EXPIRED} | ({FindingClass.LOST} if lost <= doubts.get(FALSE_REPORTS, 0) else set())
    # Nor where sends overtake each other inside the client.
    no_use |= {FindingClass.REORDERED} if meta.order == "none" else set()
    of_settings = [
        f"against {finding.finding}: {finding.do}"
        for finding in audited.findings
        if finding.finding in arm.summary.findings and finding.finding not in no_use
    ]
    twice = [_TWICE] if FindingClass.DUPLICATE_ID in arm.summary.findings else []
    return (*([_CLIENT] if doubts else []), *of_settings, *twice, *_controls(arm))


def _controls(arm: ArmResult) -> Iterator[str]:
    """The control run, against findings about outputs for which no fault of the run can be the reason."""
    if arm.summary is None or not arm.meta.windows:
        return
    for finding in WITHOUT_FAULT:
        rows = [row for row in arm.summary.counts if row.finding is finding and not row.windows]
        if rows:
            number, of = sum(row.count for row in rows), arm.summary.count(finding)
            yield (
                f"against {finding}: no fault was in force for {number:,} of {of:,}, so look at the "
                "application; an arm with `without_faults: true` is a control: the same steps, but no fault "
                "is injected"
            )
