"""What our containers may do, as arguments of docker-py: nothing but what is named here.

Docker gives every container fourteen capabilities. Ours drop them all and get back what they are shown to
need; none is privileged, none gets a device; and no program can gain more (no-new-privileges), nodes apart.
"""

from __future__ import annotations

from typing import Any

Rights = dict[str, Any]


def _rights(*capabilities: str) -> Rights:
    return {"cap_drop": ["ALL"], "cap_add": list(capabilities), "security_opt": ["no-new-privileges"]}


NONE = _rights()
"""Clients, keepers of volumes, and what changes control groups: root owns these, and needs no more."""

NODE: Rights = {
    "cap_drop": ["ALL"],
    "cap_add": ["CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "SETGID", "SETUID"],
}
"""Brokers, controllers, ZooKeeper: an image's entry may begin as root, hand its folders over and change user
(the official one runs as a user from the start), and faults that act inside do so as root on that user's
files. Without no-new-privileges: under it the engine's exec as root gets no capability at all, where the
container's own user has none (seen with Docker 20.10)."""

NETWORK = _rights("NET_ADMIN", "NET_RAW")
"""Sidecars in a node's network namespace: iptables and tc, and the raw socket that measures links."""

FILES = _rights("CHOWN", "DAC_OVERRIDE", "FOWNER")
"""Sidecars with a node's volumes: its files are another user's."""
