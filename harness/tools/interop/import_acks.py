"""The acks of producers whose output is imported: an event does not name them, yet its offset tells whether a
broker answered. Under acks=0 the client reports success with the offset -1, since no broker answers (Kafka's
Sender and RecordMetadata; librdkafka: RD_KAFKA_OFFSET_INVALID)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from harness.model.errors import BadInput
from harness.tools.interop.import_files import ContainerLines
from harness.tools.interop.verifiable_events import PRODUCER, LineCounts, parse

Acks = Literal["0", "1", "all"]
_NONE = "every success has the offset -1, which is how clients report acks=0"


def acks_of(streams: Sequence[ContainerLines], given: Acks | None) -> tuple[Acks, tuple[str, ...]]:
    """The acks of all these producers, and what to tell of them; `given`: what the user says (None: nothing).

    Raises:
        BadInput: the offsets contradict what is given, or those of several producers contradict each other.
    """
    answers = [(stream, _was_answered(stream.lines())) for stream in streams]
    answered = next((stream for stream, answer in answers if answer), None)
    unanswered = next((stream for stream, answer in answers if answer is False), None)
    if answered is not None and unanswered is not None:
        raise BadInput(
            "these producers did not have the same acks",
            where=f"{unanswered.location} and {answered.location}",
            found=f"{unanswered.name}: {_NONE}; {answered.name}: offsets, so with acks=1 or all",
            next_step="import them as two runs, each with its --acks",
        )
    if unanswered is not None and given in ("1", "all"):
        raise BadInput(
            f"these sends were not acknowledged with acks={given}",
            where=unanswered.location,
            expected="successes with the offsets that a broker gave",
            found=_NONE,
            next_step="give --acks 0, or leave --acks out",
        )
    if answered is not None and given == "0":
        raise BadInput(
            "these sends were acknowledged, which acks=0 does not do",
            where=answered.location,
            expected="successes with the offset -1",
            found="a success with the offset that a broker gave",
            next_step="give the producers' acks: --acks 1 or --acks all",
        )
    if unanswered is not None:
        words = f"{unanswered.location}: {_NONE}: its sends are taken as acks=0, so no broker confirmed them"
        return "0", () if given else (words,)
    return given or "all", ()


def _was_answered(lines: Iterable[bytes | None]) -> bool | None:
    """Whether a broker gave an offset to one of these sends; None: there is no success. A single success may
    lack its offset under other acks too: a broker that has forgotten a retried batch does not name it."""
    counted, answered = LineCounts(), None
    for line in lines:
        event = parse(line, PRODUCER, counted)
        if event is not None and event["name"] == "producer_send_success":
            if event["offset"] >= 0:
                return True
            answered = False
    return answered
