"""What clients of own producers really ask for, as proxies see it, and how it differs from their words."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from harness.model.program_meta import WireSettings
from workloads.own.client_settings import weakest
from workloads.own.producer_folder import Acks

_NO_ID = "no producer id, though it is said to be idempotent"


def wire_settings(
    rows: Sequence[Mapping[str, Any]], topics: Collection[str | None]
) -> tuple[WireSettings, ...]:
    """Those of a topic, by its name and its id, from what the proxies of all nodes saw."""
    seen = {
        WireSettings(**{name: row[name] for name in WireSettings.model_fields})
        for row in rows
        if row["topic"] in topics
    }
    return tuple(sorted(seen, key=lambda one: (one.client, one.version, one.acks, one.idempotent)))


def weaker_on_the_wire(seen: Sequence[WireSettings], acks: Acks, *, idempotent: bool) -> Iterator[str]:
    """A sentence for each client that asks for less than was said: `acks`, and whether it is `idempotent`."""
    for one in seen:
        less = [
            *([f"acks={one.acks}, though acks={acks} was said"] if weakest([one.acks, acks]) != acks else []),
            *(
                ["no producer id, though it is said to be idempotent"]
                if idempotent and not one.idempotent
                else []
            ),
        ]
        if less:
            yield f"on the wire, client {one.client or 'without an id'} asks for {', and for '.join(less)}"
