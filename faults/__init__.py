"""Faults: what is broken (`kill`, `partition`, ...) on which target, proved to have taken effect, and healed.

A module holds one fault, or a few of a kind: a frozen model that a YAML file can contain, and how to inject,
verify and heal it.
The import, its place in `Fault` and its name in `__all__` make it known to experiment files and their schema,
to `kafka-chaos faults` and to the docs.
"""

from typing import Annotated

from pydantic import Field

from faults.acl_deny import AclDeny
from faults.add_partitions import AddPartitions
from faults.client_traffic import DropResponses, HoldConnections
from faults.clock_skew import ClockSkew
from faults.command import Command
from faults.config_change import ConfigChange
from faults.connections import RefuseConnections
from faults.corrupt_segment import CorruptSegment
from faults.data_loss import PowerLoss, WipeDisk
from faults.delete_records import DeleteOldRecords
from faults.disk_full import DiskFull
from faults.dns import Dns
from faults.elect import Elect, Transfer
from faults.finalize import Finalize
from faults.packets import Loss, Reorder
from faults.partition import Bridge, Partition, Ring
from faults.processes import Kill, Pause, Stop
from faults.reassign import Reassign
from faults.requests import Requests
from faults.resource_limits import CpuLimit, MemoryLimit
from faults.restart import Restart
from faults.slow_disk import SlowDisk
from faults.slow_links import Bandwidth, Jitter, Latency
from faults.throttle import Throttle

Fault = Annotated[
    AclDeny
    | AddPartitions
    | Bandwidth
    | Bridge
    | ClockSkew
    | Command
    | ConfigChange
    | CorruptSegment
    | CpuLimit
    | DeleteOldRecords
    | DiskFull
    | Dns
    | DropResponses
    | Elect
    | Finalize
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
    | Requests
    | Restart
    | Ring
    | SlowDisk
    | Stop
    | Throttle
    | Transfer
    | WipeDisk,
    Field(discriminator="kind"),
]
"""Any fault, identified by its `kind`."""

__all__ = [
    "AclDeny",
    "AddPartitions",
    "Bandwidth",
    "Bridge",
    "ClockSkew",
    "Command",
    "ConfigChange",
    "CorruptSegment",
    "CpuLimit",
    "DeleteOldRecords",
    "DiskFull",
    "Dns",
    "DropResponses",
    "Elect",
    "Fault",
    "Finalize",
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
    "Requests",
    "Restart",
    "Ring",
    "SlowDisk",
    "Stop",
    "Throttle",
    "Transfer",
    "WipeDisk",
]
