"""Classes of findings about transactions that poll: cycles among them.

What is an edge is told in `checkers.transactions.cycles`, and what Kafka promises in
docs/explanation/transactions-that-read.md. Their facts are rows of `checkers.transactions.cycles.CYCLES`: one
per component, with its shortest cycle as `story`.
"""

from __future__ import annotations

from functools import partial

from pyspark.sql import Column

from checkers.classes.base import Facts, finding_class, rules_in

_transaction_class = partial(finding_class, subject="transaction")


@_transaction_class("{count} transactions have polled each other's records in a circle: {story}")
def circular_information_flow(r: Facts) -> Column:
    """Transactions polled records of each other in a circle (Adya's G1c without write dependencies): each
    edge of the cycle is a record that one transaction wrote and the next one polled, or a transaction that
    had ended when the next one began. Not allowed if all of them poll with read_committed: a transaction
    commits after its own polls, and its records can be polled after it has committed, so each of them would
    have committed before itself. With read_uncommitted it is allowed, and counted. One finding per component,
    with its shortest cycle; `count` is the number of its transactions.

    Source: with read_committed a consumer gets transactional messages which have been committed (Kafka
    documentation, Consumer Configs, isolation.level; KIP-98, Consumer); Jepsen's Kafka workload allows G1c
    without ww edges with read_uncommitted alone.
    Example: transaction A polled a record of transaction B, and B one of A.
    """
    return r.kind == "circular_information_flow"


@_transaction_class("{count} transactions have written around each other: {story}")
def write_cycle(r: Facts) -> Column:
    """Transactions wrote around each other (Adya's G0), or wrote and polled in a circle (G1c with write
    dependencies): in one partition A's record stands before B's, in another one B's before A's, or A polled
    it. Allowed and counted: Kafka does not isolate the writes of transactions of different producers. One
    finding per component, with its shortest cycle; `count` is the number of its transactions.

    Source: a transaction is atomic, and its records are appended when they are sent (KIP-98); write cycles
    are normal in Kafka's model (Jepsen, Redpanda 21.10.1; `allowed-error-types` of jepsen.tests.kafka).
    Example: A's record is at offset 4 of t-0 and B's at 5; B's is at offset 7 of t-1 and A's at 8.
    """
    return r.kind == "write_cycle"


@_transaction_class("transactions were polled in part, among {count}: {story}")
def fractured_read(r: Facts) -> Column:
    """A transaction polled a record of another one, or one that depends on it, and in another partition
    stopped before a record of the same one (Adya's G-single: a cycle with exactly one read-write edge).
    Allowed and counted: a consumer fetches each partition by itself, and may not get all records of a
    transaction together. One finding per component, with its shortest cycle; `count` is the number of its
    transactions.

    Source: a consumer may not read all the messages of a transaction (KIP-98, Transactional Guarantees; Kafka
    documentation, KafkaConsumer, Reading Transactional Messages).
    Example: A wrote offset 4 of t-0 and 7 of t-1; B polled t-0 up to 4 and t-1 up to 6.
    """
    return r.kind == "fractured_read"


CLASSES = rules_in(globals())
