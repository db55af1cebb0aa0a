"""The command lines of the user's programs, from what an experiment says of them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from harness.cluster.containers.images import require_image
from harness.model.errors import BadInput
from harness.model.host.process_group import ProcessCommand
from workloads.own.producer_folder import (
    BOOTSTRAP_VARIABLE,
    FOLDER_VARIABLE,
    RUN_VARIABLE,
    TOPIC_VARIABLE,
)
from workloads.records.config.own_producer_spec import OwnProducerSpec, filled

_VARIABLE_OF = {
    "bootstrap": BOOTSTRAP_VARIABLE,
    "topic": TOPIC_VARIABLE,
    "journal": FOLDER_VARIABLE,
    "run": RUN_VARIABLE,
}


def commands_of(
    spec: OwnProducerSpec, environment: Mapping[str, str], producers: int
) -> tuple[ProcessCommand, ...]:
    """What starts the programs of an arm: one for each producer if the command names its number, else one for
    all; none if there is no command. `environment` has the variables that the run sets."""
    if spec.command is None:
        return ()
    known = {name: environment[variable] for name, variable in _VARIABLE_OF.items()}
    return tuple(
        ProcessCommand(
            tuple(filled(text, known | {"producer": str(number)}) for text in spec.command),
            {
                **environment,
                **{name: filled(text, known | {"producer": str(number)}) for name, text in spec.env.items()},
            },
        )
        for number in range(producers if spec.one_each else 1)
    )


def check_program(spec: OwnProducerSpec, where: str) -> None:
    """Refuse a program that this machine does not have; `where` names the arm.

    Raises:
        BadInput: it is not found, or cannot be executed; or its image or a folder is missing.
        PrerequisiteMissing: it has an image, and there is no container engine.
    """
    if spec.image is not None:
        for folder in spec.folders:
            if not Path(folder).is_dir():
                raise BadInput(
                    "a folder for the program's container is missing",
                    where=f"{where}: `folders` below `own`",
                    expected="a folder of this machine",
                    found=folder,
                    next_step="correct the path; it is relative to the folder in which kafka-chaos runs",
                )
        require_image(spec.image, "the program", f"{where}: `image` below `own`")
        return
    search = spec.env.get("PATH", os.environ.get("PATH"))
    # What holds a placeholder is known once there is a run.
    if spec.command is None or "{" in spec.command[0] + (search or ""):
        return
    program = spec.command[0]
    if shutil.which(program, path=search) is not None:
        return
    found = "no such file"
    if os.sep not in program:
        found = f"nothing that can be executed is called {program!r} in the folders of PATH"
    elif Path(program).is_dir():
        found = "a folder"
    elif Path(program).exists():
        found = "a file that may not be executed"
    raise BadInput(
        "the program cannot be started",
        where=f"{where}: `command` below `own`: {program}",
        expected="a program on PATH, or a file that may be executed, by its path from the current folder",
        found=found,
        next_step="correct `command`; a script needs its interpreter before it: [python, shop.py]",
    )
