"""Which consumers take part in a comparison, and in which situations."""

from __future__ import annotations

from collections.abc import Sequence

from harness.lab.clients.client import CLIENT
from harness.lab.clients.installing import named_client
from harness.lab.clients.participants import ALL, installed_arms, refuse_nobody, words_of_command
from harness.lab.consumers.consumer_comparison import ConsumerArm, consumer_arms
from harness.lab.consumers.situation import SITUATION, USUAL_SITUATIONS, ConsumerSituation
from harness.model.errors import BadInput


def consuming_participants(
    named: Sequence[str], modes: Sequence[str], command: str | None, own: str
) -> tuple[tuple[ConsumerArm, ...], dict[str, str]]:
    """As `participants`, of a comparison of consumers: without a name and a `command`, all that consume take
    part.

    Raises:
        BadInput: there is no such client or mode, one has no program that consumes, or nobody is left.
    """
    known = [name for name in CLIENT.builtin_names() if CLIENT.builtin(name)[0].consumer is not None]
    names = tuple(dict.fromkeys(named)) or (() if command is not None else known)
    clients = [named_client(name) for name in names]
    for client in clients:
        if client.spec.consumer is None:
            raise BadInput(
                f"the client {client.name} has no program that consumes",
                where="--client",
                expected=f"one of {', '.join(known)}, or a file with `consumer`",
                next_step="leave it out, or compare producers: leave out --consumers",
            )
    arms, left_out = installed_arms(
        clients, modes, lambda spec: tuple(spec.consumer.modes) if spec.consumer else (), consumer_arms
    )
    if command is not None:
        arms.append(ConsumerArm(own, "default", words_of_command(command), commits="either"))
    refuse_nobody(arms, left_out)
    return tuple(arms), left_out


def chosen_situations(names: Sequence[str]) -> dict[str, ConsumerSituation]:
    """The situations with these names; `all` is every one, none named the usual ones.

    Raises:
        BadInput: there is no such situation.
    """
    wanted = SITUATION.builtin_names() if ALL in names else tuple(dict.fromkeys(names)) or USUAL_SITUATIONS
    return {name: SITUATION.builtin(name)[0] for name in wanted}


def situation_rows() -> list[dict[str, str]]:
    """Each situation that consumers are compared in."""
    return [
        {"situation": name, "what happens": SITUATION.builtin(name)[0].title}
        for name in SITUATION.builtin_names()
    ]
