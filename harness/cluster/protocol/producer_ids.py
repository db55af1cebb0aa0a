"""Producer ids of transactional.ids, over the Kafka protocol.

InitProducerId 4 is understood by brokers from 2.7 to 4.x.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from kio.schema.init_producer_id import v4
from kio.schema.types import ProducerId, TransactionalId
from kio.static.primitive import i16, i32Timedelta

from harness.cluster.protocol.connection import BrokerConnection, error_name

_TIMEOUT = i32Timedelta.parse(timedelta(seconds=60))
"""transaction.timeout.ms until the producer itself says another one; its default."""


@dataclass(frozen=True, slots=True)
class ProducerEpoch:
    """A producer id and its epoch; -1 and -1: not known."""

    producer_id: int = -1
    epoch: int = -1


def init_producer_id(
    connection: BrokerConnection, transactional_id: str, known: ProducerEpoch
) -> ProducerEpoch | str:
    """Initialise a transactional.id at its coordinator; returns the new producer id and epoch, or the name of
    the error.

    With a `known` id and epoch the epoch rises by one, if they are still the coordinator's own (KIP-360).
    Without, whoever has them is fenced. If a transaction is open it is aborted first, and the answer is
    CONCURRENT_TRANSACTIONS (KIP-98).

    Raises:
        OSError: the broker does not answer.
    """
    request = v4.InitProducerIdRequest(
        transactional_id=TransactionalId(transactional_id),
        transaction_timeout=_TIMEOUT,
        producer_id=ProducerId(known.producer_id),
        producer_epoch=i16(known.epoch),
    )
    answer = connection.ask(request, v4.InitProducerIdResponse)
    failed = error_name(answer.error_code)
    return failed or ProducerEpoch(int(answer.producer_id), int(answer.producer_epoch))
