"""Hand-built topology views."""

from __future__ import annotations

from harness.model.broker_views import BrokerView, PartitionState, TopologyView


def state(
    *,
    leader: int = 1,
    epoch: int = 0,
    isr: tuple[int, ...] = (1, 2, 3),
    end: int | None = 10,
    mark: int | None = None,
    partition: int = 0,
    replicas: tuple[int, ...] = (1, 2, 3),
    start: int | None = 0,
    topic: str = "t",
) -> PartitionState:
    return PartitionState(topic, partition, leader, epoch, replicas, isr, start, end, mark)


def seen(broker: int, *states: PartitionState) -> BrokerView:
    return BrokerView(broker=broker, answered=True, brokers=(1, 2, 3), partitions=states)


def silent(broker: int) -> BrokerView:
    return BrokerView(broker=broker, answered=False)


def view(*views: BrokerView) -> TopologyView:
    return TopologyView(at_ns=1, views=views)


def quiet() -> TopologyView:
    """Three brokers that agree on everything: leader 1, all replicas at 10."""
    return view(seen(1, state(mark=10)), seen(2, state()), seen(3, state()))
