"""Producers of the user's own program as data: what they do, and the program, if the run starts it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, Self

from pydantic import Field, model_validator

from harness.model.environment import check_passable
from harness.model.errors import closest
from harness.model.frozen import Frozen
from workloads.records.config.id_spec import IdSpec

OWN_PLACEHOLDERS = ("bootstrap", "topic", "journal", "run", "producer")
"""What arguments and environment variables of a program may hold in braces."""
OWN_VARIABLES = ("KAFKA_CHAOS_BOOTSTRAP", "KAFKA_CHAOS_TOPIC", "KAFKA_CHAOS_JOURNAL", "KAFKA_CHAOS_RUN")
"""The environment variables that tell a program the first four of them."""
_BRACES = re.compile(r"(?<!\$)(?P<open>\{\{?)(?P<name>[a-z_]+)(?P<close>\}\}?)")
_OTHER_NAMES = {
    **dict.fromkeys(("bootstrap_servers", "bootstrap_server", "servers", "brokers", "broker"), "bootstrap"),
    **dict.fromkeys(("topics", "output", "target"), "topic"),
    **dict.fromkeys(("folder", "journals", "journal_dir"), "journal"),
    **dict.fromkeys(("run_id", "id"), "run"),
    **dict.fromkeys(("number", "instance", "producer_id"), "producer"),
}
"""What other tools call a placeholder, and its name here."""


class OwnProducerSpec(Frozen):
    """Producers of the user's own program, which journal what they send (`kafka_chaos.journaled`, or events
    in JSON lines). With `transactional` they write transactions.

    With `command` the run starts the program when the topic is there, and ends it. Environment variables tell
    it where to write: `KAFKA_CHAOS_BOOTSTRAP`, `KAFKA_CHAOS_TOPIC`, `KAFKA_CHAOS_JOURNAL` and
    `KAFKA_CHAOS_RUN` (docs/how-to/own-producer.md). Without, the run waits for a program that the user
    starts. Arguments and values of `env` may hold `{bootstrap}`, `{topic}`, `{journal}` and `{run}`, which
    are the values of these variables. With `{producer}`, the number of a producer from 0, the program is
    started once for each of the workload's `producers`; without, one process has all of them. `{{name}}` is
    passed on as `{name}`.

    Some clients number records some time after `send` was called, so that sends that are not awaited may
    overtake each other inside the client, idempotent or not (kafkajs, platformatic, rskafka). With
    `order: none` records of such a client that are late are counted and break no verdict; with `sent` they
    do, if the producer is idempotent or has one request in flight.

    With `image` the program runs in a container on the cluster's network, as this process's user:
    `{bootstrap}` is then the brokers' address there. It sees `{journal}` and the folders of `folders` (read
    only) under the same paths.
    """

    transactional: bool = False
    order: Literal["sent", "none"] = Field(
        "sent", description="`none`: the client does not keep the order in which sends are called"
    )
    id: IdSpec | None = Field(
        None, description="where a record has an id of its own, by which it is judged, too"
    )
    command: tuple[str, ...] | None = Field(
        None, min_length=1, description="the program and its arguments; absent: the run starts none"
    )
    env: dict[str, str] = Field(
        default_factory=dict, description="environment variables of the program, beside those of this process"
    )
    image: str | None = Field(
        None, min_length=1, description="container image that the program runs in; absent: on this machine"
    )
    folders: tuple[str, ...] = Field((), description="folders of this machine that its container may read")
    close_seconds: float | None = Field(
        None,
        ge=1,
        le=3600,
        description="seconds after the write steps within which journals must end with `end`; absent: "
        "`delivery.timeout.ms` of the arm and 5 s",
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.command is None:
            for name in ("env", "image", "folders"):
                if getattr(self, name):
                    raise ValueError(f"`{name}` is that of the program that `command` starts: name that, too")
            return self
        if self.folders and self.image is None:
            raise ValueError("`folders` are those of a container: name its `image`, too")
        if not self.command[0].strip():
            raise ValueError("`command` begins with the program, and it is empty")
        check_passable(self.command, self.env)
        for text in self.texts:
            for name in placeholders_of(text):
                if name in OWN_PLACEHOLDERS:
                    continue
                meant = _OTHER_NAMES.get(name) or closest(name, OWN_PLACEHOLDERS)
                known = ", ".join(f"{{{one}}}" for one in OWN_PLACEHOLDERS)
                guess = f"did you mean {{{meant}}}?" if meant else f"there are {known}."
                raise ValueError(
                    f"{text!r} holds {{{name}}}: {guess} Braces of your own are written {{{{{name}}}}}"
                )
        if taken := sorted(set(OWN_VARIABLES).intersection(self.env)):
            raise ValueError(f"the run sets {', '.join(taken)} itself: leave it out of `env`")
        return self

    @property
    def texts(self) -> tuple[str, ...]:
        """The arguments and the values of the environment, before placeholders are filled in."""
        return (*(self.command or ()), *self.env.values())

    @property
    def one_each(self) -> bool:
        """Whether each producer has a process of its own, since the command names its number."""
        return any("producer" in placeholders_of(text) for text in self.texts)


def filled(text: str, values: Mapping[str, str]) -> str:
    """The text with the values of its placeholders, by their names; doubled braces become single ones."""

    def value(found: re.Match[str]) -> str:
        name = found["name"]
        return f"{{{name}}}" if _doubled(found) else found["open"][1:] + values[name] + found["close"][1:]

    return _BRACES.sub(value, text)


def _doubled(found: re.Match[str]) -> bool:
    """Whether these braces are the program's own."""
    return len(found["open"]) == len(found["close"]) == 2


def placeholders_of(text: str) -> list[str]:
    """The names of the placeholders of a text, those of doubled braces left out."""
    return [found["name"] for found in _BRACES.finditer(text) if not _doubled(found)]
