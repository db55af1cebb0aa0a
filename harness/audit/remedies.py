"""What an audit advises about the findings of a run."""

from __future__ import annotations

from harness.audit.audit import audit
from harness.audit.kafka_version import version_or_newest
from harness.audit.known_settings import ClientLibrary
from harness.config.properties import PropertyLine
from harness.model.result import ArmResult, VerdictWord
from harness.model.run import UNKNOWN_CLUSTER

_LIBRARY = {"librdkafka": ClientLibrary.LIBRDKAFKA, "java": ClientLibrary.JAVA, "driven": ClientLibrary.JAVA}
"""Whose names and defaults the settings of a run have, by `RunMeta.client`; of others the audit finds out."""


def remedies(arm: ArmResult) -> tuple[str, ...]:
    """What to change in the settings of an arm whose verdict is `invalid`: of each rule of the audit that
    applies to them and explains a class of findings that the run has.

    Only what is known counts: an imported history says nothing of topic and brokers, and of a cluster that is
    not ours the settings that are not in the run's metadata are unknown.
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
    }
    entries = [PropertyLine(name, value, "run.json", 0) for name, value in settings.items()]
    image = meta.cluster.image
    found = audit(
        entries,
        _LIBRARY.get(meta.client),
        version_or_newest(image.kafka_version),
        server_defaults=image.origin != UNKNOWN_CLUSTER.image.origin,
    )
    return tuple(
        f"against {one.finding}: {one.do}" for one in found.findings if one.finding in arm.summary.findings
    )
