"""The clusters that bugs share, and how their experiments are written."""

from __future__ import annotations

from harness.bugs.expecting import REQUEST_LOGGER
from harness.spec import ClusterSpec

TRANSACTIONS = ClusterSpec(
    brokers=2,
    loggers=REQUEST_LOGGER,
    properties={
        # Who leads is what the experiment says, and nothing else.
        "auto.leader.rebalance.enable": "false",
        # A transaction that its coordinator is to abort is found soon; 10 s.
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
    },
)
"""Two brokers and a controller, as shipped in what counts; brokers print the requests that they have
answered."""
FIRST_TRANSACTIONS = TRANSACTIONS.model_copy(update={"features": {"transaction.version": 0}})
"""The same cluster, where transactions are as before KIP-890."""
BEFORE_KRAFT_ONLY = TRANSACTIONS.model_copy(update={"version": "3.9.2"})
"""The same on Kafka 3.9, which knows no other transactions than those."""
