"""While the only controller of a cluster is down, a thread of each broker takes all processor time it gets.

It starts a cluster of one broker and one controller with kafka-chaos, which has to be installed, kills the
controller, and reads how much processor time the threads of the broker take.
"""

from __future__ import annotations

import subprocess
import time
from functools import partial

from trials import SHOWN, trials

from kafka_chaos import ManagedCluster

BEFORE = 5.0
"""Seconds for which the controller has been dead when measuring begins; controller.quorum.fetch.timeout.ms
is 2 s."""
MEASURED = 20.0
"""Seconds for which the threads are measured."""
BUSY = 0.1
"""A thread that waits for a controller takes less than this share of the time, also on a busy machine; one
that does not wait takes all that it gets."""
THREAD = "raft-io"


def processor_seconds(container: str) -> float:
    """What the thread has taken so far."""
    command = ["docker", "exec", container, "sh", "-c", "cat /proc/1/task/*/stat; getconf CLK_TCK"]
    *lines, ticks = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    # The second field is the name, in brackets; user and system time are the 14th and 15th.
    fields = [line.rsplit(")", 1)[1].split() for line in lines if THREAD in line]
    return sum(int(one[11]) + int(one[12]) for one in fields) / int(ticks)


def share(container: str, seconds: float) -> float:
    """The share of one processor that the thread takes now."""
    before, begun = processor_seconds(container), time.monotonic()
    time.sleep(seconds)
    return (processor_seconds(container) - before) / (time.monotonic() - begun)


def trial(version: str) -> str:
    """Measure a broker of this version before its controller is killed and while it is dead."""
    with ManagedCluster(version=version, brokers=1) as cluster:
        container = str(cluster.inspect(1)["Id"])
        time.sleep(BEFORE)
        with_it = share(container, BEFORE)
        cluster.kill(101)
        time.sleep(BEFORE)
        without = share(container, MEASURED)
        cluster.start_node(101)
    told = f"{THREAD} takes {without:.0%} of a processor while the controller is dead, {with_it:.0%} before"
    return SHOWN + told if without > BUSY else told


if __name__ == "__main__":
    versions = {"4.4.0": "4.4.0", "4.3.1": "4.3.1", "control, 4.1.1": "4.1.1"}
    trials({name: partial(trial, version) for name, version in versions.items()}, seconds=300)
