"""Faults: what is broken (`kill`, `partition`, ...) on which target, shown to have happened, and healed.

Each fault is one module: a frozen model that a YAML file can hold, and how to inject, verify and heal it.
`FAULTS` lists them; adding one there makes it known to experiment files, the schema and the documentation.
"""

from faults.kill import Kill
from faults.partition import Partition

FAULTS = (Kill, Partition)

__all__ = ["FAULTS", "Kill", "Partition"]
