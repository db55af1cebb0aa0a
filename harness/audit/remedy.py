"""Advice of the audit about the findings of a run."""

from __future__ import annotations

from harness.audit.audit import audit
from harness.audit.known_settings import ClientLibrary
from harness.config.properties import PropertyLine
from harness.model.result import ArmResult, VerdictWord
from harness.model.run import RunMeta

_LIBRARY = {
    "librdkafka": ClientLibrary.LIBRDKAFKA,
    "java": ClientLibrary.JAVA,
    "driven": ClientLibrary.JAVA,
}
"""Whose names and defaults the settings of a run have, by `RunMeta.client`; of others the audit finds out."""


def remedies(arm: ArmResult) -> tuple[str, ...]:
    """What to change in the settings of an arm whose verdict is `invalid`: of each rule of the audit that
    applies to them and explains a class of findings that the run has."""
    if arm.summary is None or arm.judgement.verdict is not VerdictWord.INVALID:
        return ()
    found = arm.summary.findings
    return tuple(
        f"against {one.finding}: {one.do}"
        for one in audit(_settings_of(arm.meta), _LIBRARY.get(arm.meta.client)).findings
        if one.finding in found
    )


def _settings_of(meta: RunMeta) -> tuple[PropertyLine, ...]:
    settings = {
        **meta.cluster.properties,
        **meta.topic_config,
        "replication.factor": str(meta.replication_factor),
        **meta.producer_config,
        "acks": meta.acks,
        "enable.idempotence": str(meta.idempotent).lower(),
    }
    return tuple(PropertyLine(name, value, "run.json", 0) for name, value in settings.items())
