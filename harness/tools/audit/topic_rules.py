"""Rules about topics and brokers, and about their effect on a producer's promise."""

from __future__ import annotations

from harness.model.finding_class import FindingClass
from harness.tools.audit.effective_settings import EffectiveSettings
from harness.tools.audit.known_settings import SERVER_KINDS
from harness.tools.audit.rule import (
    BROKER_DOCS,
    TOPIC_DOCS,
    TRANSACTIONS,
    UNCLEAN,
    AuditRule,
    RuleProof,
    contradiction,
    risk,
)

_COPIES = ("min.insync.replicas", "replication.factor", "default.replication.factor")


def _storing(effective: EffectiveSettings) -> bool:
    """Whether the configuration has settings of topics or brokers."""
    return not effective.kinds.isdisjoint(SERVER_KINDS) or "min.insync.replicas" in effective.written


def _acks_all(effective: EffectiveSettings) -> bool:
    return effective.producing and effective.acks == "all"


def _copies(effective: EffectiveSettings) -> int | None:
    """The number of replicas, if it is configured; -1 means the brokers' default."""
    for name in ("replication.factor", "default.replication.factor"):
        if name in effective.written and (copies := effective.number(name, -1)) != -1:
            return copies
    return None


def _least(effective: EffectiveSettings) -> int:
    """The minimum ISR; 0: not known."""
    return effective.number("min.insync.replicas")


def _is_no_controller(effective: EffectiveSettings) -> bool:
    """Whether this is the file of a broker in KRaft mode whose controllers are nodes of their own."""
    roles = effective.listed("process.roles")
    return "broker" in roles and "controller" not in roles


def _asks_for_all(effective: EffectiveSettings) -> bool:
    """Whether acks=all needs every replica, of several; more than there are means all since Kafka 3.7."""
    copies, least = _copies(effective) or 0, _least(effective)
    return copies > 1 and (least == copies or (least > copies and effective.kafka >= (3, 7)))


def _kept_by_one(
    rule: str,
    topic: str,
    holds: str,
    finding: FindingClass,
    *,
    minimum: bool = True,
    proof: RuleProof | None = None,
    since: str | None = None,
) -> AuditRule:
    """The rule that a topic which brokers keep for themselves should have several replicas, and not be
    acknowledged by one; `topic` is the beginning of its settings, `minimum` whether it has a minimum ISR of
    its own."""
    copies, least = f"{topic}.replication.factor", f"{topic}.min.isr"
    settings = (copies, least) if minimum else (copies,)
    return risk(
        f"{rule}-one-copy",
        settings,
        lambda s: any(s.written.get(name) == "1" for name in settings),
        f"one replica keeps{', or is enough to acknowledge,' * minimum} {holds}: if its broker fails, "
        "this is lost",
        f"set {copies}=3" + f" and {least}=2" * minimum,
        f"{BROKER_DOCS}, {copies}",
        finding,
        proof,
        since=since,
    )


RULES: tuple[AuditRule, ...] = (
    contradiction(
        "acks-all-alone",
        ("acks", "min.insync.replicas"),
        lambda s: _acks_all(s) and _storing(s) and _least(s) == 1,
        "acks=all with min.insync.replicas=1: when all followers have left the ISR, the leader acknowledges "
        "alone, as with acks=1",
        "set min.insync.replicas=2 with replication.factor=3",
        f"{TOPIC_DOCS}, min.insync.replicas",
        FindingClass.LOST,
        RuleProof("last-replica", ("min.insync.replicas=1", "min.insync.replicas=2")),
    ),
    risk(
        "minisr-one",
        _COPIES,
        lambda s: s.names(*_COPIES) and not s.producing and _least(s) == 1 and _copies(s) != 1,
        "min.insync.replicas={min.insync.replicas}: when all followers have left the ISR, the leader "
        "acknowledges acks=all alone, and what it has acknowledged is lost with it",
        "set min.insync.replicas=2 with replication.factor=3",
        f"{TOPIC_DOCS}, min.insync.replicas",
        FindingClass.LOST,
        RuleProof("last-replica", ("min.insync.replicas=1", "min.insync.replicas=2")),
    ),
    contradiction(
        "minisr-above-copies",
        _COPIES,
        lambda s: (copies := _copies(s)) is not None and _least(s) > copies,
        "min.insync.replicas={min.insync.replicas} is greater than the number of replicas: with acks=all no "
        "send can ever succeed (NOT_ENOUGH_REPLICAS)",
        "set replication.factor=3 and min.insync.replicas=2",
        f"{TOPIC_DOCS}, min.insync.replicas",
        before="3.7",
    ),
    risk(
        "minisr-capped",
        _COPIES,
        lambda s: _copies(s) == 1 and _least(s) > 1,
        "min.insync.replicas={min.insync.replicas} has no effect with one replica: a leader asks for at most "
        "as many replicas as the partition has, and acknowledges acks=all alone",
        "set replication.factor=3 and min.insync.replicas=2",
        "KIP-966, KAFKA-21110",
        FindingClass.LOST,
        since="3.7",
    ),
    risk(
        "minisr-all-copies",
        _COPIES,
        _asks_for_all,
        "min.insync.replicas={min.insync.replicas} asks for all replicas: while one broker is down, even for "
        "a restart, writing with acks=all is impossible",
        "set replication.factor one above min.insync.replicas",
        f"{TOPIC_DOCS}, min.insync.replicas",
    ),
    risk(
        "minisr-of-broker-file",
        ("min.insync.replicas", "process.roles"),
        lambda s: _is_no_controller(s) and "min.insync.replicas" in s.written and _least(s) > 1,
        "min.insync.replicas={min.insync.replicas} in the file of a broker that is no controller: in a "
        "cluster that was formatted with eligible leader replicas, as all new ones since Kafka 4.1 are, the "
        "active controller writes its own value as the cluster's default, which wins",
        "set it in the controllers' files too before the cluster first starts; in a cluster that runs, on "
        "each topic or with kafka-configs (--entity-type brokers --entity-default)",
        "KIP-966; findings/min-insync-of-the-broker-file-is-ignored.sh (Kafka 4.4.0)",
        FindingClass.LOST,
        since="4.1",
    ),
    risk(
        "one-copy",
        ("replication.factor", "default.replication.factor"),
        lambda s: _copies(s) == 1,
        "one replica: while its broker is down nothing can be written or read, and there is no second copy",
        "set replication.factor=3",
        "Kafka documentation, Replication",
        FindingClass.LOST,
    ),
    contradiction(
        "unclean-with-acks-all",
        ("unclean.leader.election.enable", "acks"),
        lambda s: s.says("unclean.leader.election.enable", "true") and _acks_all(s),
        "unclean.leader.election.enable=true: a replica outside the ISR may be elected, and records that "
        "were acknowledged with acks=all are truncated",
        "set unclean.leader.election.enable=false",
        f"{TOPIC_DOCS}, unclean.leader.election.enable (KIP-106)",
        FindingClass.LOST,
        UNCLEAN,
    ),
    risk(
        "unclean",
        ("unclean.leader.election.enable",),
        lambda s: s.says("unclean.leader.election.enable", "true") and not _acks_all(s),
        "unclean.leader.election.enable=true: a replica outside the ISR may be elected, and acknowledged "
        "records are truncated",
        "set unclean.leader.election.enable=false",
        f"{TOPIC_DOCS}, unclean.leader.election.enable (KIP-106)",
        FindingClass.LOST,
        UNCLEAN,
    ),
    risk(
        "unclean-with-transactions",
        ("unclean.leader.election.enable", "transactional.id", "isolation.level"),
        lambda s: (
            s.says("unclean.leader.election.enable", "true")
            and (s.transactional or s.says("isolation.level", "read_committed"))
        ),
        "unclean.leader.election.enable=true with transactions: the new leader may lack the marker that ends "
        "a transaction. Readers with isolation.level=read_committed then stop before it, until an operator "
        "aborts it, and a transaction may be read in part",
        "set unclean.leader.election.enable=false; `kafka-transactions.sh find-hanging` finds what is open",
        f"{TOPIC_DOCS}, unclean.leader.election.enable; KAFKA-20716, KIP-664",
        FindingClass.TORN_TRANSACTION,
    ),
    contradiction(
        "transactions-above-copies",
        ("transaction.state.log.min.isr", "transaction.state.log.replication.factor"),
        lambda s: (
            "transaction.state.log.replication.factor" in s.written
            and s.number("transaction.state.log.min.isr")
            > s.number("transaction.state.log.replication.factor")
        ),
        "transaction.state.log.min.isr={transaction.state.log.min.isr} is greater than the "
        "{transaction.state.log.replication.factor} replicas of that log: no transaction can begin",
        "set transaction.state.log.replication.factor=3, or with one broker transaction.state.log.min.isr=1",
        f"{BROKER_DOCS}, transaction.state.log.min.isr",
        before="3.7",
    ),
    _kept_by_one(
        "offsets", "offsets.topic", "the offsets of consumer groups", FindingClass.REDELIVERED, minimum=False
    ),
    _kept_by_one(
        "transactions",
        "transaction.state.log",
        "the state of open transactions",
        FindingClass.TORN_TRANSACTION,
        proof=TRANSACTIONS,
    ),
    _kept_by_one(
        "share-state",
        "share.coordinator.state.topic",
        "the state of share groups (which records are finished)",
        FindingClass.SHARE_AGAIN,
        since="4.0",
    ),
    _kept_by_one(
        "remote-log",
        "rlmm.config.remote.log.metadata.topic",
        "the places of segments in remote storage",
        FindingClass.LOST,
        minimum=False,
        since="3.6",
    ),
)
