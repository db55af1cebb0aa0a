"""Faults: what is broken (`kill`, `partition`, ...) on which target, proved to have taken effect, and healed.

A module holds one fault, or a few of a kind: a frozen model that a YAML file can contain, and how to inject,
verify and heal it.
The import, its place in `Fault` and its name in `__all__` make it known to experiment files and their schema,
to `kafka-chaos faults` and to the docs.
"""

from typing import Annotated

from pydantic import Field

from faults.bandwidth import Bandwidth
from faults.clock_skew import ClockSkew
from faults.command import Command
from faults.connections import HoldConnections, RefuseConnections
from faults.corrupt_segment import CorruptSegment
from faults.disk_full import DiskFull
from faults.drop_responses import DropResponses
from faults.elect import Elect, Transfer
from faults.kill import Kill, Stop
from faults.latency import Jitter, Latency
from faults.loss import Loss
from faults.packet_corruption import CorruptPackets, DuplicatePackets, Reorder
from faults.partition import Bridge, Partition, Ring
from faults.pause import Pause
from faults.power_loss import PowerLoss
from faults.reassign import Reassign
from faults.resource_limits import CpuLimit, MemoryLimit
from faults.restart import Restart
from faults.slow_disk import SlowDisk
from faults.wipe_disk import WipeDisk

Fault = Annotated[
    Bandwidth
    | Bridge
    | ClockSkew
    | Command
    | CorruptPackets
    | CorruptSegment
    | CpuLimit
    | DiskFull
    | DropResponses
    | DuplicatePackets
    | Elect
    | HoldConnections
    | Jitter
    | Kill
    | Latency
    | Loss
    | MemoryLimit
    | Partition
    | Pause
    | PowerLoss
    | Reassign
    | RefuseConnections
    | Reorder
    | Restart
    | Ring
    | SlowDisk
    | Stop
    | Transfer
    | WipeDisk,
    Field(discriminator="kind"),
]
"""Any fault, identified by its `kind`."""

__all__ = [
    "Bandwidth",
    "Bridge",
    "ClockSkew",
    "Command",
    "CorruptPackets",
    "CorruptSegment",
    "CpuLimit",
    "DiskFull",
    "DropResponses",
    "DuplicatePackets",
    "Elect",
    "Fault",
    "HoldConnections",
    "Jitter",
    "Kill",
    "Latency",
    "Loss",
    "MemoryLimit",
    "Partition",
    "Pause",
    "PowerLoss",
    "Reassign",
    "RefuseConnections",
    "Reorder",
    "Restart",
    "Ring",
    "SlowDisk",
    "Stop",
    "Transfer",
    "WipeDisk",
]
