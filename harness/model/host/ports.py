"""Finds ports on 127.0.0.1 that stay free while a broker is down.

Any outgoing connection can take a port of the kernel's ephemeral range while its broker is down, so ports are
chosen below that range.
"""

from __future__ import annotations

import random
import socket
from itertools import islice

from harness.model.errors import ClusterError

HOST = "127.0.0.1"
"""The only address of the brokers for clients."""
LOWEST, HIGHEST = 20000, 32000


def free_ports(count: int, taken: frozenset[int] = frozenset()) -> list[int]:
    """Choose `count` ports that nothing listens on, none of them in `taken`.

    Raises:
        OSError: there are fewer free ports.
    """
    # Not by the experiment's seed: two runs with the same seed must not choose the same ports.
    candidates = random.SystemRandom().sample(range(LOWEST, HIGHEST), HIGHEST - LOWEST)
    chosen = list(islice((port for port in candidates if port not in taken and is_free(port)), count))
    if len(chosen) < count:
        raise OSError(f"no {count} free ports between {LOWEST} and {HIGHEST} on {HOST}")
    return chosen


def is_free(port: int) -> bool:
    """Whether a listener can be opened on 127.0.0.1 at this port now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
        return True


def require_free_ports(ports: list[int]) -> None:
    """Check that all ports are free.

    Raises:
        ClusterError: something listens on one of them; names them.
    """
    taken = [port for port in ports if not is_free(port)]
    if taken:
        raise ClusterError(
            "a host port is taken",
            where=f"{HOST}:{taken[0]}",
            expected="a free port for each broker",
            found=f"another program listens on {', '.join(map(str, taken))}",
            next_step="stop that program, or leave out the ports: free ones are chosen",
        )
