"""What replicas' files of `__consumer_offsets` hold becomes rows, of each replica that can be read."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from harness.cluster.live import LiveCluster
from harness.model.errors import ClusterError
from harness.model.group_journal import OFFSETS
from tests.support.builders.views import seen, state, view
from tests.support.journal_rows import Rows
from workloads.groups import offset_rows
from workloads.groups.offset_rows import journal_logged_commits
from workloads.groups.offsets_topic import TOPIC, LoggedCommit

pytestmark = pytest.mark.pure


class Replicas:
    """Brokers 1 to 3 have the only partition; the files of broker 2 cannot be copied."""

    spec = SimpleNamespace(existing=None)

    def view(self, topics: tuple[str, ...]) -> Any:
        assert topics == (TOPIC,)
        return view(seen(1), seen(2, state(topic=TOPIC)))

    def log_files(self, broker: int, topic: str, partition: int) -> dict[str, bytes]:
        assert (topic, partition) == (TOPIC, 0)
        if broker == 2:
            raise ClusterError("cannot be copied")
        return {"of": bytes([broker])}


def logged(
    offset: int | None, *, topic: str = "t", transactional: bool = False, aborted: bool = False
) -> Any:
    return LoggedCommit(9, "g", topic, 4, offset, 7, 1, transactional, aborted)


def journaled(cluster: Any) -> list[tuple[Any, ...]]:
    rows = Rows(OFFSETS)
    journal_logged_commits(cast(LiveCluster, cluster), {"g"}, {"t"}, rows)
    assert all(row["asked_ns"] <= row["at_ns"] for row in rows.rows)
    names = (
        "group",
        "topic",
        "partition",
        "broker",
        "source",
        "offset",
        "leader_epoch",
        "log_offset",
        "error",
    )
    return [tuple(row[name] for name in names) for row in rows.rows]


def test_commits_tombstones_and_those_of_transactions(monkeypatch: pytest.MonkeyPatch) -> None:
    held = [logged(5), logged(None), logged(6, transactional=True)]
    held += [logged(8, transactional=True, aborted=True), logged(8, topic="another")]
    monkeypatch.setattr(offset_rows, "logged_commits", lambda _files, _groups: held)
    assert journaled(Replicas()) == [
        ("g", "t", 4, broker, source, offset, 7, 9, None)
        for broker in (1, 3)
        for source, offset in (("logged", 5), ("logged", None), ("logged-transaction", 6))
    ]


def test_an_existing_cluster_is_not_read() -> None:
    assert journaled(SimpleNamespace(spec=SimpleNamespace(existing=object()))) == []
