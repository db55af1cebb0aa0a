"""A client library as data: how its program is installed, started and configured; and the built-in ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from harness.model.config.yaml_files import FileKind
from harness.model.frozen import Frozen
from workloads.records.config.own_producer_spec import filled, placeholders_of

PLACEHOLDERS = ("folder", "python", "version")
"""What commands may hold in braces: the program's folder, the Python of kafka-chaos, the version."""
Command = Annotated[tuple[str, ...], Field(min_length=1)]


DEFAULT_MODE = "default"
"""The mode that every client has: with the settings that one gets without a word."""


class ClientMode(Frozen):
    """A way to use a client. `says` is what a user would write for it. `order: none`: sends may overtake each
    other inside the client before any fault, so records that are late are counted and break no verdict."""

    says: str
    order: Literal["sent", "none"] = "sent"


Modes = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9=-]{0,19}$")]


Committer = Literal["client", "program", "either"]
"""Who commits: the client library by itself, or the program that uses it; `either`: nobody has said."""


class ConsumerMode(Frozen):
    """A way to consume with a client. `says` is what a user would write for it, `commits` who commits."""

    says: str
    commits: Committer = "client"


class ConsumerSpec(Frozen):
    """A program that consumes with a client library; its members are given up `session_seconds` after they
    have died, by the client's defaults."""

    command: Command
    session_seconds: float = Field(gt=0, le=300)
    modes: dict[Modes, ConsumerMode] = Field(min_length=1)


class ClientCause(Frozen):
    """Why a client does what comparisons show: what was `seen`, `because` of what, and the `source` in the
    library's own code (a file, and what to look for there) for the pinned version."""

    seen: str
    because: str
    source: str


class ClientSpec(Frozen):
    """A client library, and a program that sends with it.

    `package` is its name in its `registry`, of which `version` is installed unless another one is asked for.
    `needs` are the commands that this machine must have; without one of them the program is installed and
    started in containers of `image`, if there is one. The files of the program are copied into a folder,
    with the file for journals of its `language`; there `install` is carried out, command by command, and
    `command` starts the program, and that of `consumer` one that consumes. Commands may hold `{folder}`,
    `{python}` and `{version}`.
    """

    title: str
    language: Literal["go", "javascript", "java", "rust", "python"]
    registry: str
    package: str
    version: str = Field(pattern=r"^[0-9A-Za-z][0-9A-Za-z.+_-]{0,39}$")
    needs: tuple[str, ...] = ()
    install: tuple[Command, ...] = ()
    command: Command
    env: dict[str, str] = {}
    image: str | None = None
    modes: dict[Modes, ClientMode] = Field(min_length=1)
    consumer: ConsumerSpec | None = None
    notes: str = ""
    causes: tuple[ClientCause, ...] = ()

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for text in (
            *(word for command in self.install for word in command),
            *self.command,
            *(self.consumer.command if self.consumer is not None else ()),
            *self.env.values(),
        ):
            for name in placeholders_of(text):
                if name not in PLACEHOLDERS:
                    known = ", ".join(f"{{{one}}}" for one in PLACEHOLDERS)
                    raise ValueError(f"{text!r} holds {{{name}}}; there are {known}")
        of_consumer = self.consumer.modes if self.consumer is not None else self.modes
        if DEFAULT_MODE not in self.modes or DEFAULT_MODE not in of_consumer:
            raise ValueError(f"no mode is called `{DEFAULT_MODE}`: that is what one gets without a setting")
        return self


def filled_in(command: tuple[str, ...], values: Mapping[str, str]) -> tuple[str, ...]:
    """The command with the values of its placeholders, by their names."""
    return tuple(filled(word, values) for word in command)


CLIENT = FileKind(
    ClientSpec,
    one="a client",
    expected="a mapping with title, language, registry, package, version, command and modes",
    example="`kafka-chaos clients --show kafkajs` prints that of a built-in one",
    schema="kafka-chaos clients --schema",
    folder="harness/lab/clients",
)
