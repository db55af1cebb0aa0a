"""Initialises transactional.ids at their coordinators, to fence a producer or to raise its epoch."""

from __future__ import annotations

import json
import time
from collections import Counter

from harness.cluster.live import LiveCluster
from harness.cluster.protocol.producer_ids import ProducerEpoch, init_producer_id
from harness.model.errors import ClusterError
from harness.model.journal import RowSink
from harness.model.progress import report_progress
from harness.run.steps.broker_queries import NO_ANSWER
from workloads.java.init_producer_id import InitProducerId

_AGAIN = (
    "CONCURRENT_TRANSACTIONS",
    "COORDINATOR_LOAD_IN_PROGRESS",
    "COORDINATOR_NOT_AVAILABLE",
    "NOT_COORDINATOR",
    NO_ANSWER,
)
"""Answers after which clients ask again. A request that was carried out and not answered may be repeated: the
coordinator knows the epoch before (KIP-360)."""
_ANSWER_SECONDS = 10.0
_PAUSE = 0.1
_TOLD_EVERY = 1000


def initialise(step: InitProducerId, cluster: LiveCluster, transactional_id: str, answers: RowSink) -> None:
    """Initialise the transactional.id as the step says; appends one row of ANSWERS, for the last answer.

    Raises:
        ClusterError: no coordinator was found, or the epoch was not reached.
    """
    deadline = time.monotonic() + step.seconds
    wanted = (step.epoch or 1) - 1
    known, broker, failed = ProducerEpoch(), -1, None
    requests: Counter[str] = Counter()
    while known.epoch < wanted and (left := deadline - time.monotonic()) > 0:
        coordinator = cluster.coordinator(transactional_id, transactional=True, within=left)
        if coordinator is None:
            break
        broker, failed = coordinator, None
        with cluster.connection(broker, _ANSWER_SECONDS) as connection:
            while failed is None and known.epoch < wanted and time.monotonic() < deadline:
                try:
                    answer = init_producer_id(connection, transactional_id, known)
                except OSError:
                    answer = NO_ANSWER
                failed = answer if isinstance(answer, str) else None
                known = known if isinstance(answer, str) else answer
                requests[failed or "NONE"] += 1
                if step.epoch is not None and known.epoch % _TOLD_EVERY == 0:
                    report_progress(f"{step.name}: epoch {known.epoch:,} of {step.epoch:,}")
        if failed is not None and failed not in _AGAIN:
            break
        time.sleep(_PAUSE)
    if broker < 0 or (step.epoch is not None and known.epoch != wanted):
        raise ClusterError(
            f"a transactional.id was not initialised in {step.seconds:g} s",
            where=f"step {step.name}: {transactional_id}",
            expected=f"epoch {wanted:,}" if step.epoch is not None else "a coordinator",
            found=f"epoch {known.epoch:,}, answers {dict(requests)}" if broker > 0 else "no coordinator",
        )
    answers.append(
        {
            "at_ns": time.time_ns(),
            "ask": step.name,
            "round": 0,
            "place": 0,
            "broker": broker,
            "partition": -1,
            "question": "init_producer_id",
            "error": failed,
            "number": known.epoch if failed is None else None,
            "detail": json.dumps({"producer_id": known.producer_id, "answers": dict(requests)}),
        }
    )
