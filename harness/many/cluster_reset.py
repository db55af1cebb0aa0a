"""Resets a cluster between two runs: removes what the last run left, and verifies that.

The runner itself heals faults and looks for what they have left at the beginning and at the end of each run
(`harness.run.experiment_run`, `harness.cluster.traces`). What remains are topics, and brokers that have
not rejoined yet.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from harness.cluster.live import LiveCluster
from harness.cluster.managed import ManagedCluster
from harness.model.broker_views import TopologyView
from harness.model.errors import ClusterError
from harness.model.polling import wait_until
from harness.model.progress import report_progress

_SECONDS, _ANSWER_SECONDS = 60.0, 1.0


def reset(cluster: LiveCluster) -> str:
    """Delete every topic, and wait until the cluster is like a new one; returns what was verified.

    A cluster whose version or levels of features were changed is started anew.

    Verified for every broker: it answers, knows all other brokers and no topic but Kafka's own, and reports
    the same leader and a full ISR for each partition of those.

    Raises:
        PrerequisiteMissing: a new cluster is needed, and there is no image.
        ClusterError: it is not so within 60 s, or kafka-chaos did not start the cluster: nothing is deleted.
    """
    if cluster.spec.existing is not None:
        raise ClusterError(
            "the topics of a cluster that kafka-chaos did not start are not deleted",
            where=cluster.spec.existing.bootstrap_servers,
            next_step="leave `existing` out",
        )
    if isinstance(cluster, ManagedCluster) and cluster.changes:
        report_progress("starting a new cluster, since the last run has changed its version")
        cluster.renew()
        return "started anew, since the run before it had changed its version"
    began = time.monotonic()
    admin = cluster.admin()
    deleted = sorted({name for names in _topics(cluster).values() for name in names or () if not _own(name)})
    for name in deleted:
        admin.delete(name)
    wait_until(
        lambda: next(_missing(cluster), None),
        what="every broker back, no topic of a run left, Kafka's own topics with a full ISR",
        seconds=_SECONDS,
        next_step="start a new cluster",
    )
    return (
        f"{len(cluster.broker_ids)} brokers answer and know each other, {len(deleted)} topic(s) deleted, "
        f"none left, Kafka's own in full ISR ({time.monotonic() - began:.1f} s)"
    )


def _missing(cluster: LiveCluster) -> Iterator[str]:
    listed = _topics(cluster)
    for broker, names in listed.items():
        if names is None:
            yield f"broker {broker} does not answer"
        elif left := [name for name in names if not _own(name)]:
            yield f"broker {broker} still knows {', '.join(sorted(left)[:3])}"
    internal = sorted({name for names in listed.values() for name in names or ()})
    yield from unready(cluster.view(internal), cluster.broker_ids)


def unready(view: TopologyView, brokers: tuple[int, ...]) -> Iterator[str]:
    """How brokers and Kafka's own topics differ from those of a new cluster."""
    for seen in view.views:
        if not seen.answered:
            yield f"broker {seen.broker} does not answer"
        elif missing := set(brokers) - set(seen.brokers):
            yield f"broker {seen.broker} does not know broker {sorted(missing)}"
    where = {(state.topic, state.partition) for seen in view.views for state in seen.partitions}
    for topic, partition in sorted(where):
        states = view.states(topic, partition).values()
        if len({(state.leader, state.leader_epoch) for state in states}) > 1:
            yield f"brokers disagree on the leader of {topic}-{partition}"
        for state in states:
            if state.leader < 0 or set(state.isr) != set(state.replicas):
                yield f"{topic}-{partition}: leader {state.leader}, ISR {sorted(state.isr)}"


def _topics(cluster: LiveCluster) -> dict[int, tuple[str, ...] | None]:
    """The topics that each broker knows; None: it does not answer."""

    def ask(broker: int) -> tuple[str, ...] | None:
        try:
            with cluster.connection(broker, _ANSWER_SECONDS) as connection:
                topics = connection.metadata(None).topics
        except OSError:
            return None
        return tuple(topic.name for topic in topics if topic.name is not None and topic.error_code == 0)

    with ThreadPoolExecutor(max_workers=len(cluster.broker_ids)) as pool:
        return dict(zip(cluster.broker_ids, pool.map(ask, cluster.broker_ids), strict=True))


def _own(topic: str) -> bool:
    return topic.startswith("__")
