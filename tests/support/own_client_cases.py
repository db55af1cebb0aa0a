"""Files of clients with names of their own of which each of their rules speaks, with near misses."""

from __future__ import annotations

from pathlib import Path

from harness.model.config.flat_files import documents
from harness.tools.audit.audit_files import audit_files
from harness.tools.audit.audit_result import Audit
from harness.tools.audit.clients.catalogue import own_clients
from harness.tools.audit.clients.own_files import own_file
from harness.tools.audit.known_settings import ClientLibrary

LAG = "replica.lag.time.max.ms: 60000"
OPEN = "transaction.max.timeout.ms: 900000"

OWN_CASES: dict[ClientLibrary, list[tuple[str, str, str]]] = {
    ClientLibrary.SARAMA: [
        (
            "idempotence-acks",
            "{Producer.Idempotent: true}",
            "{Producer.Idempotent: true, Producer.RequiredAcks: -1}",
        ),
        (
            "idempotence-retries",
            "{Producer.Idempotent: true, Producer.Retry.Max: 0}",
            "{Producer.Idempotent: true, Producer.Retry.Max: 1}",
        ),
        (
            "idempotence-one-in-flight",
            "{Producer.Idempotent: true, Producer.RequiredAcks: WaitForAll}",
            "{Producer.Idempotent: true, Producer.RequiredAcks: WaitForAll, Net.MaxOpenRequests: 1}",
        ),
        (
            "transaction-without-idempotence",
            "{Producer.Transaction.ID: t}",
            "{Producer.Transaction.ID: t, Producer.Idempotent: true}",
        ),
        (
            "transaction-timeout",
            f"{{Producer.Transaction.Timeout: 16m, {OPEN}}}",
            f"{{Producer.Transaction.Timeout: 15m, {OPEN}}}",
        ),
        (
            "heartbeat-not-lower",
            "{Consumer.Group.Heartbeat.Interval: 10s}",
            "{Consumer.Group.Heartbeat.Interval: 9s}",
        ),
        ("acks-0", "{Producer.RequiredAcks: NoResponse}", "{Producer.RequiredAcks: WaitForLocal}"),
        ("acks-1", "{Producer.Return.Errors: true}", "{Producer.RequiredAcks: sarama.WaitForAll}"),
        ("not-idempotent", "{Producer.RequiredAcks: WaitForAll}", "{Producer.Idempotent: true}"),
        (
            "order",
            "{Producer.RequiredAcks: WaitForAll}",
            "{Producer: {Partitioner: p}, Net.MaxOpenRequests: 1}",
        ),
        ("no-retries", "{Producer.Retry.Max: 0}", "{Producer.Retry.Max: 1}"),
        (
            "request-timeout-lag",
            f"{{Producer.Timeout: 60s, {LAG}}}",
            f"{{Producer.Timeout: 61 * time.Second, {LAG}}}",
        ),
        (
            "dirty-read",
            "{Producer.Transaction.ID: t, Consumer.Offsets.Initial: OffsetOldest}",
            "{Producer.Transaction.ID: t, Consumer.IsolationLevel: ReadCommitted}",
        ),
        ("latest", "{Consumer.Offsets.Initial: -1}", "{Consumer.Offsets.Initial: sarama.OffsetOldest}"),
        (
            "retries-end-early",
            "{Producer.Retry.Max: 13, Producer.Retry.Backoff: 1s}",
            "{Producer.Retry.Max: 14, Producer.Retry.Backoff: 1s}",
        ),
        (
            "auto-commit-skips",
            "{Consumer.Offsets.Initial: OffsetOldest}",
            "{Consumer.Offsets.AutoCommit.Enable: false}",
        ),
    ],
    ClientLibrary.KAFKA_GO: [
        ("acks-0", "{Writer: {Topic: orders}}", "{NewWriter: {Topic: orders, BatchSize: 5}}"),
        ("acks-1", "{RequiredAcks: kafka.RequireOne}", "{RequiredAcks: all}"),
        ("not-idempotent", "{RequiredAcks: RequireAll}", "{RequiredAcks: RequireAll, MaxAttempts: 1}"),
        ("no-retries", "{RequiredAcks: one, MaxAttempts: 1}", "{RequiredAcks: one, MaxAttempts: 0}"),
        ("latest", "{GroupID: g, StartOffset: kafka.LastOffset}", "{GroupID: g, StartOffset: 0}"),
        ("batch-not-retried", "{RequiredAcks: RequireAll}", "{RequiredAcks: RequireNone}"),
        (
            "retries-end-early",
            "{RequiredAcks: RequireAll, MaxAttempts: 16}",
            "{RequiredAcks: RequireAll, MaxAttempts: 17}",
        ),
        ("send-not-awaited", "{Async: true}", "{Async: false}"),
        (
            "read-committed-unfiltered",
            "{IsolationLevel: ReadCommitted}",
            "{IsolationLevel: kafka.ReadUncommitted}",
        ),
        ("commit-before-return", "{GroupID: g}", "{MaxBytes: 1000}"),
    ],
    ClientLibrary.FRANZ_GO: [
        (
            "idempotence-acks",
            "{DisableIdempotentWrite: false, RequiredAcks: LeaderAck()}",
            "{DisableIdempotentWrite: false, RequiredAcks: AllISRAcks()}",
        ),
        (
            "default-idempotence-acks",
            "{RequiredAcks: kgo.LeaderAck()}",
            "{RequiredAcks: kgo.LeaderAck(), DisableIdempotentWrite: true}",
        ),
        (
            "idempotence-one-in-flight",
            "{MaxProduceRequestsInflightPerBroker: 5}",
            "{MaxProduceRequestsInflightPerBroker: 5, DisableIdempotentWrite: true}",
        ),
        (
            "transactional-not-idempotent",
            "{TransactionalID: t, DisableIdempotentWrite: true}",
            "{TransactionalID: t}",
        ),
        (
            "transaction-timeout",
            f"{{TransactionTimeout: 16m, {OPEN}}}",
            f"{{TransactionTimeout: 15m, {OPEN}}}",
        ),
        ("acks-0", "{RequiredAcks: NoAck()}", "{RequiredAcks: AllISRAcks()}"),
        ("acks-1", "{RequiredAcks: LeaderAck()}", "{ProducerLinger: 5ms}"),
        ("not-idempotent", "{DisableIdempotentWrite: true}", "{DisableIdempotentWrite: false}"),
        (
            "order",
            "{DisableIdempotentWrite: true, MaxProduceRequestsInflightPerBroker: 2}",
            "{DisableIdempotentWrite: true}",
        ),
        (
            "no-retries",
            "{RecordRetries: 0}",
            "{RecordRetries: 1}",
        ),
        (
            "request-timeout-lag",
            f"{{ProduceRequestTimeout: 60s, DisableIdempotentWrite: true, {LAG}}}",
            f"{{ProduceRequestTimeout: 60s, {LAG}}}",
        ),
        (
            "dirty-read",
            "{TransactionalID: t, ConsumerGroup: g}",
            "{TransactionalID: t, ConsumerGroup: g, FetchIsolationLevel: kgo.ReadCommitted()}",
        ),
        (
            "latest",
            "{ConsumeStartOffset: kgo.NewOffset().AtEnd()}",
            "{ConsumeStartOffset: kgo.NewOffset().AtStart()}",
        ),
        ("auto-commit-repeats", "{ConsumerGroup: g}", "{ConsumerGroup: g, DisableAutoCommit: true}"),
        ("greedy-commit", "{ConsumerGroup: g, GreedyAutoCommit: true}", "{ConsumerGroup: g}"),
        ("rebalance-in-poll", "{ConsumerGroup: g}", "{ConsumerGroup: g, BlockRebalanceOnPoll: true}"),
    ],
    ClientLibrary.KAFKAJS: [
        ("idempotence-acks", "{idempotent: true, acks: 1}", "{idempotent: true, acks: -1}"),
        ("idempotence-retries", "{idempotent: true, retry: {retries: 0}}", "{idempotent: true}"),
        (
            "transaction-timeout",
            f"{{transactionTimeout: 900001, {OPEN}}}",
            f"{{transactionTimeout: 900000, {OPEN}}}",
        ),
        (
            "heartbeat-not-lower",
            "{groupId: g, heartbeatInterval: 30000}",
            "{groupId: g, heartbeatInterval: 29999}",
        ),
        ("acks-0", "{acks: 0}", "{acks: 1}"),
        ("acks-1", "{send: {acks: 1}}", "{producer: {idempotent: false}}"),
        ("not-idempotent", "{acks: -1}", "{idempotent: true}"),
        ("order", "{acks: -1}", "{idempotent: true}"),
        ("no-retries", "{retry: {retries: 0}}", "{retry: {retries: 1}}"),
        (
            "request-timeout-lag",
            f"{{acks: -1, requestTimeout: 60000, {LAG}}}",
            f"{{acks: -1, requestTimeout: 60001, {LAG}}}",
        ),
        (
            "dirty-read",
            "{transactionalId: t, consumer: {readUncommitted: true}}",
            "{transactionalId: t, consumer: {groupId: g}}",
        ),
        ("latest", "{consumer: {groupId: g}}", "{consumer: {groupId: g}, subscribe: {fromBeginning: true}}"),
        ("idempotent-not-awaited", "{idempotent: true}", "{idempotent: false}"),
        ("acks-of-the-constructor", "{producer: {acks: 1}}", "{producer: {acks: -1}}"),
        ("acks-of-the-constructor", "{producer: {acks: 1}}", "{acks: 1}"),
        ("retries-end-early", "{acks: -1}", "{acks: -1, retry: {retries: 6}}"),
        (
            "aborted-handed-out",
            "{transactionalId: t, groupId: g}",
            "{transactionalId: t, groupId: g, readUncommitted: true}",
        ),
        ("auto-commit-repeats", "{groupId: g}", "{groupId: g, run: {autoCommit: false}}"),
        (
            "batch-resolved-whole",
            "{groupId: g, eachBatchAutoResolve: true}",
            "{groupId: g, eachBatchAutoResolve: false}",
        ),
    ],
    ClientLibrary.PLATFORMATIC: [
        ("idempotence-acks", "{idempotent: true, send: {acks: 1}}", "{idempotent: true}"),
        ("acks-0", "{send: {acks: 0}}", "{send: {acks: 1}}"),
        ("acks-1", "{producer: {clientId: a}}", "{send: {acks: -1}}"),
        ("not-idempotent", "{send: {acks: -1}}", "{idempotent: true}"),
        ("order", "{send: {acks: -1}}", "{send: {acks: -1}, producer: {maxInflights: 1}}"),
        ("no-retries", "{producer: {retries: false}}", "{producer: {retries: 1}}"),
        (
            "request-timeout-lag",
            f"{{producer: {{timeout: 60000}}, {LAG}}}",
            f"{{producer: {{timeout: 60001}}, {LAG}}}",
        ),
        (
            "dirty-read",
            "{producer: {transactionalId: t}, consumer: {isolationLevel: 0}}",
            "{producer: {transactionalId: t}, consumer: {isolationLevel: 1}}",
        ),
        (
            "transaction-without-idempotence",
            "{transactionalId: t}",
            "{transactionalId: t, idempotent: true}",
        ),
        ("acks-of-the-constructor", "{producer: {acks: -1}}", "{producer: {acks: -1, idempotent: true}}"),
        ("acks-of-the-constructor", "{producer: {acks: -1}}", "{producer: {acks: -1}, send: {acks: -1}}"),
        ("idempotent-not-awaited", "{idempotent: true}", "{idempotent: false}"),
        ("retries-end-early", "{producer: {retries: 13}}", "{producer: {retries: 14}}"),
        (
            "aborted-handed-out",
            "{transactionalId: t, groupId: g}",
            "{transactionalId: t, groupId: g, isolationLevel: 0}",
        ),
        ("mode-ignores-commits", "{groupId: g}", "{groupId: g, mode: committed}"),
        (
            "fallback-latest",
            "{groupId: g, consume: {mode: committed}}",
            "{groupId: g, consume: {mode: committed, fallbackMode: earliest}}",
        ),
        ("auto-commit-skips", "{groupId: g, autocommit: 5000}", "{groupId: g, autocommit: false}"),
    ],
    ClientLibrary.AIOKAFKA: [
        ("idempotence-acks", "{enable_idempotence: True, acks: 1}", "{enable_idempotence: True, acks: all}"),
        ("transaction-acks", "{transactional_id: t, acks: 1}", "{transactional_id: t}"),
        (
            "transaction-timeout",
            f"{{transactional_id: t, transaction_timeout_ms: 900001, {OPEN}}}",
            f"{{transactional_id: t, transaction_timeout_ms: 900000, {OPEN}}}",
        ),
        ("acks-0", "{acks: 0}", "{acks: 1}"),
        ("acks-1", "{linger_ms: 5}", "{enable_idempotence: True}"),
        ("not-idempotent", "{acks: all}", "{enable_idempotence: True}"),
        (
            "request-timeout-lag",
            f"{{acks: all, request_timeout_ms: 60000, {LAG}}}",
            f"{{acks: all, request_timeout_ms: 60001, {LAG}}}",
        ),
        (
            "dirty-read",
            "{transactional_id: t, group_id: g}",
            "{transactional_id: t, group_id: g, isolation_level: read_committed}",
        ),
        ("latest", "{group_id: g}", "{group_id: g, auto_offset_reset: earliest}"),
        ("auto-commit-skips", "{group_id: g}", "{group_id: g, enable_auto_commit: False}"),
    ],
    ClientLibrary.KAFKA_PYTHON: [
        ("idempotence-acks", "{enable_idempotence: True, acks: 1}", "{enable_idempotence: True, acks: -1}"),
        (
            "idempotence-in-flight",
            "{enable_idempotence: True, max_in_flight_requests_per_connection: 6}",
            "{enable_idempotence: True, max_in_flight_requests_per_connection: 5}",
        ),
        ("idempotence-retries", "{enable_idempotence: True, retries: 0}", "{enable_idempotence: True}"),
        (
            "transactional-not-idempotent",
            "{transactional_id: t, enable_idempotence: False}",
            "{transactional_id: t}",
        ),
        (
            "transaction-timeout",
            f"{{transactional_id: t, transaction_timeout_ms: 900001, {OPEN}}}",
            f"{{transactional_id: t, transaction_timeout_ms: 900000, {OPEN}}}",
        ),
        ("acks-0", "{acks: 0}", "{acks: 1}"),
        ("acks-1", "{acks: 1}", "{linger_ms: 5}"),
        ("not-idempotent", "{enable_idempotence: False}", "{linger_ms: 5}"),
        ("order", "{acks: 1}", "{acks: 1, max_in_flight_requests_per_connection: 1}"),
        ("no-retries", "{retries: 0}", "{retries: 1}"),
        (
            "request-timeout-lag",
            f"{{acks: 1, request_timeout_ms: 60000, {LAG}}}",
            f"{{acks: 1, request_timeout_ms: 60001, {LAG}}}",
        ),
        (
            "dirty-read",
            "{transactional_id: t, group_id: g}",
            "{transactional_id: t, group_id: g, isolation_level: read_committed}",
        ),
        ("latest", "{group_id: g}", "{group_id: g, auto_offset_reset: smallest}"),
        ("idempotence-ruled-out", "{acks: 1}", "{acks: 1, enable_idempotence: False}"),
        (
            "idempotence-ruled-out",
            "{max_in_flight_requests_per_connection: 6}",
            "{max_in_flight_requests_per_connection: 5}",
        ),
        ("auto-commit-skips", "{group_id: g}", "{group_id: g, enable_auto_commit: False}"),
    ],
}


def audit_of(client: ClientLibrary, text: str, name: str = "client.yaml") -> Audit:
    """What an audit says of a text as a file of this client."""
    file = own_file(Path(name), documents(text, name), own_clients()[client])
    assert file is not None, "none of its names"
    return audit_files([file], client)
