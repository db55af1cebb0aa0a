"""Rules about what Kafka Streams and Kafka Connect do with records that they cannot process."""

from __future__ import annotations

import re
from functools import partial

from harness.model.finding_class import FindingClass
from harness.tools.audit.effective_settings import EffectiveSettings
from harness.tools.audit.rule import AuditRule, risk

_CONNECT_DOCS = "Kafka documentation, Connect Configs"
_STREAMS_DOCS = "Kafka documentation, Streams Configs"
_KAFKAS_OWN = "org.apache.kafka.streams.errors."
_CONTINUES = re.compile(r"continue|skip|ignore", re.IGNORECASE)
"""In the name of a class, also of one that is not Kafka's, and in the words of Spring Cloud Stream."""
_DEAD_LETTERS = "errors.dead.letter.queue.topic.name"
_HANDLERS = {
    "deserialization": (
        "drops records that it cannot deserialize",
        ("deserialization.exception.handler", "default.deserialization.exception.handler"),
        "KIP-161",
    ),
    "processing": (
        "drops records whose processing raises an exception",
        ("processing.exception.handler",),
        "KIP-1033",
    ),
    "production": (
        "drops results that cannot be written",
        ("production.exception.handler", "default.production.exception.handler"),
        "KIP-210",
    ),
}
"""By what fails: what a handler that continues does, the names of the setting, of which the first one that is
given counts, and the source."""


def _is_sink(effective: EffectiveSettings) -> bool:
    return (
        "connector.topics" in effective.written
        or "sink" in effective.written.get("connector.class", "").lower()
    )


def _tolerates_all(effective: EffectiveSettings) -> bool:
    return effective.says("errors.tolerance", "all")


def _goes_on(names: tuple[str, ...], effective: EffectiveSettings) -> bool:
    """Whether the handler continues, and keeps the record nowhere. Kafka's own ones write to a topic of dead
    letters if there is one, since Kafka 4.2 (KIP-1034)."""
    handler = next((effective.written[name] for name in names if name in effective.written), "")
    kept = (
        handler.startswith(_KAFKAS_OWN) and effective.kafka >= (4, 2) and effective.written.get(_DEAD_LETTERS)
    )
    return _CONTINUES.search(handler) is not None and not kept


RULES: tuple[AuditRule, ...] = (
    risk(
        "tolerated-errors",
        ("errors.tolerance", "errors.deadletterqueue.topic.name"),
        lambda s: (
            _tolerates_all(s) and _is_sink(s) and not s.written.get("errors.deadletterqueue.topic.name")
        ),
        "errors.tolerance=all without errors.deadletterqueue.topic.name: the sink skips records that it "
        "cannot convert or transform, commits their offsets, and keeps them nowhere",
        "set errors.deadletterqueue.topic.name, or errors.tolerance=none, with which the task fails instead",
        f"{_CONNECT_DOCS}, errors.tolerance, errors.deadletterqueue.topic.name (KIP-298)",
        FindingClass.UNPROCESSED,
    ),
    risk(
        "tolerated-errors-source",
        ("errors.tolerance",),
        lambda s: _tolerates_all(s) and not _is_sink(s),
        "errors.tolerance=all in a source: it skips records that it cannot convert or transform, or that "
        "Kafka does not take, and a source has no queue of dead letters",
        "set errors.tolerance=none, with which the task fails instead",
        f"{_CONNECT_DOCS}, errors.tolerance (KIP-298, KIP-779)",
        FindingClass.UNPROCESSED,
    ),
    *(
        risk(
            f"streams-continues-{what}",
            (*names, _DEAD_LETTERS),
            partial(_goes_on, names),
            f"the {what} exception handler continues: Kafka Streams {does}, goes on, and commits past them",
            f"name a handler that fails or keeps the record, or set {_DEAD_LETTERS}, to which Kafka's own "
            "handlers write since Kafka 4.2",
            f"{_STREAMS_DOCS}, {names[0]} ({source}, KIP-1034)",
            FindingClass.UNPROCESSED,
        )
        for what, (does, names, source) in _HANDLERS.items()
    ),
)
