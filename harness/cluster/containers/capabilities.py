"""The rights of our containers, as arguments of docker-py.

Docker gives every container fourteen capabilities. Ours drop them all and add only what they are shown to
need. None is privileged or gets a device, and, except in nodes, no program can gain more
(no-new-privileges).
"""

from __future__ import annotations

from typing import Any

Rights = dict[str, Any]


def _rights(*capabilities: str) -> Rights:
    return {"cap_drop": ["ALL"], "cap_add": list(capabilities), "security_opt": ["no-new-privileges"]}


NONE = _rights()
"""Clients, keepers of volumes, and sidecars that change control groups, which root owns."""

NODE: Rights = {
    "cap_drop": ["ALL"],
    "cap_add": ["CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "SETGID", "SETUID"],
}
"""Brokers, controllers, ZooKeeper and applications under test: an image's entry point may start as root,
change the owner of its folders and then the user (the official one runs as a user from the start), and faults
inside the container act as root on that user's files. Not with no-new-privileges: with it, the engine's exec
as root has no capabilities if the container's own user has none (observed with Docker 20.10)."""

NETWORK = _rights("NET_ADMIN", "NET_RAW")
"""Sidecars in a node's network namespace: iptables and tc, and the raw socket that measures links."""

FILES = _rights("CHOWN", "DAC_OVERRIDE", "FOWNER")
"""Sidecars with a node's volumes, whose files belong to another user."""
