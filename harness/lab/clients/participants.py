"""Who takes part in a comparison of clients, and under which faults."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from harness.lab.clients.client import CLIENT, ClientSpec
from harness.lab.clients.comparison import ClientArm, arms_of_client
from harness.lab.clients.fault import CLIENT_FAULT, USUAL, ClientFault
from harness.lab.clients.installing import (
    TOOLCHAINS,
    InstalledClient,
    NamedClient,
    install,
    missing_tools,
    named_client,
)
from harness.model.errors import BadInput, PrerequisiteMissing, did_you_mean
from harness.model.progress import report_progress
from harness.run.preflight.doctor import Prerequisite

ALL = "all"
_Arm = TypeVar("_Arm", bound=ClientArm)


def chosen_faults(names: Sequence[str]) -> dict[str, ClientFault]:
    """The faults with these names; `all` is every one, none named the usual ones.

    Raises:
        BadInput: there is no such fault.
    """
    wanted = CLIENT_FAULT.builtin_names() if ALL in names else tuple(dict.fromkeys(names)) or USUAL
    return {name: CLIENT_FAULT.builtin(name)[0] for name in wanted}


def participants(
    named: Sequence[str], modes: Sequence[str], command: str | None, own: str
) -> tuple[tuple[ClientArm, ...], dict[str, str]]:
    """The arms of a comparison, of clients that are installed by now, and why others are left out, by name.

    Without any name and without a `command`, every built-in client takes part. `own` is what the program of
    `command` is called.

    Raises:
        BadInput: there is no such client or mode, or nobody is left.
    """
    names = tuple(dict.fromkeys(named)) or (() if command is not None else CLIENT.builtin_names())
    clients = [named_client(name) for name in names]
    arms, left_out = installed_arms(clients, modes, lambda spec: tuple(spec.modes), arms_of_client)
    if command is not None:
        arms.append(ClientArm(own, "default", words_of_command(command)))
    refuse_nobody(arms, left_out)
    return tuple(arms), left_out


def installed_arms(
    clients: Sequence[NamedClient],
    modes: Sequence[str],
    modes_of: Callable[[ClientSpec], tuple[str, ...]],
    arms_of: Callable[[InstalledClient, Sequence[str]], Iterable[_Arm]],
) -> tuple[list[_Arm], dict[str, str]]:
    """The arms of these clients in these modes, and why clients are left out, by name.

    Raises:
        BadInput: none of them has such a mode.
    """
    refuse_unknown_modes([mode for client in clients for mode in modes_of(client.spec)], modes)
    arms: list[_Arm] = []
    left_out: dict[str, str] = {}
    for client in clients:
        wanted = [mode for mode in modes if mode in modes_of(client.spec)]
        if modes and not wanted:
            continue
        try:
            arms += arms_of(install(client), wanted)
        except PrerequisiteMissing as error:
            left_out[client.label] = f"{error.what}: {error.found}"
            report_progress(f"{client.label} is left out: {error.what}")
    return arms, left_out


def refuse_nobody(arms: Sequence[ClientArm], left_out: Mapping[str, str]) -> None:
    """Refuse a comparison without an arm.

    Raises:
        BadInput: there is none.
    """
    if not arms:
        raise BadInput(
            "no client is left to compare",
            found="; ".join(f"{name}: {why}" for name, why in left_out.items()) or "none has such a mode",
            next_step="`kafka-chaos clients --list` says what each client needs",
        )


def refuse_unknown_modes(of_clients: Sequence[str], modes: Sequence[str]) -> None:
    """Refuse a mode that is none of those of the clients.

    Raises:
        BadInput: there is one.
    """
    known = tuple(dict.fromkeys(of_clients))
    for mode in modes:
        if mode not in known:
            raise BadInput(
                f"no client has a mode {mode!r}",
                where="--mode",
                expected=f"one of {', '.join(known)}",
                next_step=did_you_mean(mode, known, "`kafka-chaos clients --list` names those of each"),
            )


def words_of_command(command: str) -> tuple[str, ...]:
    """The words of `--command`, as a shell splits them.

    Raises:
        BadInput: it is no command.
    """
    try:
        words = tuple(shlex.split(command))
    except ValueError as error:
        raise BadInput("this is no command", where=f"--command {command!r}", found=str(error)) from error
    if not any(words):
        raise BadInput("this is no command", where="--command", expected="a program", found="nothing")
    return words


def toolchains() -> Prerequisite:
    """What the built-in clients are installed and built with, as a row of `kafka-chaos doctor`."""
    needed: dict[str, list[str]] = {}
    for name in CLIENT.builtin_names():
        for tool in CLIENT.builtin(name)[0].needs:
            needed.setdefault(tool, []).append(name)
    here = {tool: shutil.which(tool) is not None for tool in needed}
    found = ", ".join(tool for tool, there in here.items() if there) or "none"
    missing = [tool for tool, there in here.items() if not there]
    without = dict.fromkeys(name for tool in missing for name in needed[tool])
    packages = " ".join(TOOLCHAINS[tool] for tool in missing)
    return Prerequisite(
        name="toolchains",
        state="limited" if missing else "ok",
        found=found + (f"; no {', '.join(missing)}" if missing else ""),
        needed_for="kafka-chaos clients",
        remedy=f"install {packages}; without: {', '.join(without)} in containers, if images can be pulled"
        if missing
        else "",
    )


def client_rows() -> list[dict[str, str]]:
    """Each built-in client with its version, modes, and what this machine lacks for it."""
    rows = []
    for name in CLIENT.builtin_names():
        spec = CLIENT.builtin(name)[0]
        missing = missing_tools(spec)
        rows.append(
            {
                "client": name,
                "version": spec.version,
                "package": f"{spec.package} ({spec.registry})",
                "modes": ", ".join(spec.modes),
                "consumes": ", ".join(spec.consumer.modes) if spec.consumer is not None else "-",
                "needs": ", ".join(spec.needs) or "-",
                "here": _here(missing, spec.image),
            }
        )
    return rows


def _here(missing: Sequence[str], image: str | None) -> str:
    if not missing:
        return "yes"
    return f"no {', '.join(missing)}" + (f"; in a container of {image}" if image is not None else "")


def fault_rows() -> list[dict[str, str]]:
    """Each fault that clients are compared under."""
    return [
        {"fault": name, "what happens": CLIENT_FAULT.builtin(name)[0].title}
        for name in CLIENT_FAULT.builtin_names()
    ]
