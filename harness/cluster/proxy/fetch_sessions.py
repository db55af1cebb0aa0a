"""What the Fetch requests of a session are about (KIP-227).

Within a session a request names only partitions that have changed since the last one, often none. So a rule
that asks for a topic has to know the session: from the request that began it, which names all, and the number
in its answer. A session older than the rule is ended with FETCH_SESSION_ID_NOT_FOUND, as a broker ends
one that it has forgotten, and the client begins another.
"""

from __future__ import annotations

from typing import Any

from harness.cluster.proxy import bodies
from harness.model.request_rules import NamedPartition

_MOST = 10_000


def within_session(request: Any) -> bool:
    """Whether a Fetch request goes on with a session, and so does not name all of its partitions."""
    return getattr(request, "session_id", 0) != 0 and request.session_epoch > 0


class FetchSessions:
    """The partitions of each session that is known, by its number; those of one broker."""

    def __init__(self) -> None:
        self._known: dict[int, frozenset[NamedPartition]] = {}

    def named_by(self, request: Any) -> frozenset[NamedPartition] | None:
        """What a Fetch request asks for; None: it goes on with a session that is not known."""
        asked = _partitions(request.topics)
        if not within_session(request):
            return asked
        known = self._known.get(request.session_id)
        if known is None:
            return None
        forgotten = {
            named for named in _partitions(request.forgotten_topics_data) if named.partition is not None
        }
        self._known[request.session_id] = (known - forgotten) | asked
        return self._known[request.session_id]

    def begun(self, partitions: frozenset[NamedPartition], answer: Any) -> None:
        """Remember what the session is about that an answer begins, if it begins one."""
        session = getattr(answer, "session_id", 0)
        if session != 0:
            if len(self._known) >= _MOST:
                self._known.clear()
            self._known[session] = partitions


def _partitions(topics: Any) -> frozenset[NamedPartition]:
    return frozenset(named for topic in topics for named in bodies.partitions(topic))
