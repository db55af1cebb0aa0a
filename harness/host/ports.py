"""Free ports on 127.0.0.1 that stay free while a broker is down.

A port from the kernel's ephemeral range can be taken by any outgoing connection while its broker is
killed; so ports are chosen below that range.
"""

from __future__ import annotations

import random
import socket

from harness.model.errors import ClusterError

HOST = "127.0.0.1"
"""Clients reach the brokers here and nowhere else."""
LOWEST, HIGHEST = 20000, 32000


def free_ports(count: int, taken: frozenset[int] = frozenset()) -> list[int]:
    """`count` ports that nobody listens on now, none of them in `taken`.

    Raises:
        OSError: there are not as many.
    """
    chosen: list[int] = []
    candidates = list(range(LOWEST, HIGHEST))
    # Not the experiment's seed: two harnesses with one seed must not want the same ports.
    random.SystemRandom().shuffle(candidates)
    for port in candidates:
        if len(chosen) == count:
            break
        if port not in taken and is_free(port):
            chosen.append(port)
    if len(chosen) < count:
        raise OSError(f"no {count} free ports between {LOWEST} and {HIGHEST} on {HOST}")
    return chosen


def is_free(port: int) -> bool:
    """Whether a listener could be opened on 127.0.0.1 at this port now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
        return True


def require_free_ports(ports: list[int]) -> None:
    """Refuse ports that somebody listens on.

    Raises:
        ClusterError: names them.
    """
    taken = [port for port in ports if not is_free(port)]
    if taken:
        raise ClusterError(
            "a host port is taken",
            where=f"{HOST}:{taken[0]}",
            expected="a free port for each broker",
            found=f"another program listens on {', '.join(map(str, taken))}",
            next_step="end that program, or leave out the ports: free ones are chosen",
        )
