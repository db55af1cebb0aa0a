"""Faults: what is broken (`kill`, `partition`, ...) on which target, shown to have happened, and healed.

Each fault is one module: a frozen model that a YAML file can hold, and how to inject, verify and heal it.
Adding it to `Fault` makes it known to experiment files and their schema.
"""

from typing import Annotated

from pydantic import Field

from faults.kill import Kill
from faults.partition import Partition
from faults.pause import Pause
from faults.stop import Stop

Fault = Annotated[Kill | Partition | Pause | Stop, Field(discriminator="kind")]
"""Any fault, told apart by its `kind`."""

__all__ = ["Fault", "Kill", "Partition", "Pause", "Stop"]
