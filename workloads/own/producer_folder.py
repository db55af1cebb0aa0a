"""The folder in which producers of the user's own leave their journals, for a run or without one.

    target.json        the run and the topic that the producers write for
    begun              exists once the first write step of the run has begun
    over               exists once the write steps of the run are over
    program-*.log      what programs printed that the run started
    *.jsonl            events of one producer each (`workloads.own.json_events`); those of `journaled` are
                       named by its number: 0.jsonl, 1.jsonl, ...

A producer whose file does not end with `end` may have sent records that are not in it.
"""

from __future__ import annotations

import json
import math
import os
import random
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import ValidationError

from harness.model.errors import BadInput, JournalError
from harness.model.polling import poll_within
from workloads.records.config.id_spec import IdSpec, id_of_program
from workloads.records.record.identity import MAX_PRODUCER, MAX_RUN

FOLDER_VARIABLE = "KAFKA_CHAOS_JOURNAL"
TOPIC_VARIABLE = "KAFKA_CHAOS_TOPIC"
RUN_VARIABLE = "KAFKA_CHAOS_RUN"
BOOTSTRAP_VARIABLE = "KAFKA_CHAOS_BOOTSTRAP"
PRODUCERS_DIR = "producers"
"""Its name in a run folder."""
TARGET_FILE = "target.json"
_BEGUN = "begun"
_OVER = "over"
_POLL_SECONDS = 0.05
Acks = Literal["0", "1", "all"]


@dataclass(frozen=True, slots=True)
class ProducerTarget:
    """What producers write for: `run_id` is in every record's identity, records of `topic` are journaled, and
    `acks` is how the producers are configured. `bootstrap` is "" if no run chose the cluster. `id` is where
    records have an id of their own (None: nowhere)."""

    run_id: int
    topic: str
    acks: Acks = "all"
    bootstrap: str = ""
    id: IdSpec | None = None


def new_run_id() -> int:
    """A random run id: records of two runs are never mistaken for each other's."""
    return random.SystemRandom().getrandbits(62) + 1


class ProducerFolder:
    """Journals of producers below `path`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def create(self, target: ProducerTarget) -> ProducerTarget:
        """Create the folder for `target`; if it is there already, return the target that it has.

        Raises:
            JournalError: it cannot be written.
            BadInput: it is there, and its target cannot be read.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            # Linked under its name, so that of two processes one decides and the other sees a whole file.
            with tempfile.NamedTemporaryFile("w", dir=self.path, prefix=".target-") as scratch:
                json.dump(_as_json(target), scratch)
                scratch.flush()
                os.link(scratch.name, self.path / TARGET_FILE)
        except FileExistsError:
            return self.target()
        except OSError as error:
            raise unwritable(self.path, error) from error
        return target

    @property
    def exists(self) -> bool:
        return (self.path / TARGET_FILE).exists()

    def target(self) -> ProducerTarget:
        """The target of its producers.

        Raises:
            BadInput: there is none, or it cannot be read.
        """
        file = self.path / TARGET_FILE
        try:
            return _target_of(json.loads(file.read_bytes()))
        except (OSError, ValueError) as error:
            raise BadInput(
                "this is no folder for journals of producers",
                where=str(file),
                expected="the file that `kafka_chaos.journaled`, or a run with `client: own`, writes there",
                found=getattr(error, "strerror", None) or str(error),
                next_step="name the folder that the run or the program used",
            ) from error

    def environment(self) -> dict[str, str]:
        """Environment variables for a program whose producers journal here."""
        target = self.target()
        return {
            FOLDER_VARIABLE: str(self.path.resolve()),
            TOPIC_VARIABLE: target.topic,
            RUN_VARIABLE: str(target.run_id),
            BOOTSTRAP_VARIABLE: target.bootstrap,
        }

    def claim(self, number: int | None = None) -> tuple[int, Path]:
        """Create the file of events of a new producer, with this number or the first free one.

        Raises:
            BadInput: another producer has that number.
            JournalError: the folder cannot be written.
        """
        if number is not None and not 0 <= number <= MAX_PRODUCER:
            raise BadInput(
                "this cannot be the number of a producer",
                expected="a whole number from 0 to 2147483647",
                found=repr(number),
            )
        candidate = 0 if number is None else number
        while True:
            file = self.path / f"{candidate}.jsonl"
            try:
                file.touch(exist_ok=False)
                return candidate, file
            except FileExistsError:
                if number is not None:
                    raise BadInput(
                        f"producer {number} has a journal already",
                        where=str(file),
                        expected="a number of its own for each producer, also after a restart",
                        next_step="leave the number out: the first free one is taken",
                    ) from None
                candidate += 1
            except OSError as error:
                raise unwritable(file, error) from error

    def event_files(self) -> list[Path]:
        """The files of all producers."""
        return sorted(self.path.glob("*.jsonl"))

    @property
    def begun(self) -> bool:
        """Whether the first write step of the run has begun."""
        return os.path.exists(self.path / _BEGUN)

    def wait_begun(self, timeout: float | None = None) -> bool:
        """Wait until the first write step of the run has begun, at most `timeout` seconds; returns whether it
        has. Without a run, nobody begins one."""

        def missing() -> str | None:
            return None if self.begun else "no step has begun"

        return poll_within(math.inf if timeout is None else timeout, missing, _POLL_SECONDS) is None

    def begin(self) -> None:
        """Tell the programs that a write step has begun."""
        self._tell(_BEGUN)

    @property
    def over(self) -> bool:
        """Whether the write steps of the run are over."""
        return os.path.exists(self.path / _OVER)

    def end(self) -> None:
        """Tell the programs that the write steps are over."""
        self._tell(_OVER)

    def _tell(self, name: str) -> None:
        try:
            (self.path / name).touch()
        except OSError as error:
            raise unwritable(self.path / name, error) from error


def open_folder(
    journal: str | Path | None,
    topic: str | None,
    acks: Acks,
    caller: str = "kafka_chaos.journaled",
    id: Mapping[str, Any] | None = None,
) -> tuple[ProducerFolder, ProducerTarget]:
    """The folder for the journal of a producer of this process, created if it is not there, and its target.
    The arguments are those of the `caller`, a public function.

    Raises:
        BadInput: no folder or no topic is named, the folder has another topic or another place of the id, or
            the run says where the id is.
        JournalError: the folder cannot be written.
    """
    its_id = None if id is None else id_of_program(id, caller)
    named = journal if journal is not None else os.environ.get(FOLDER_VARIABLE)
    if not named:
        raise BadInput(
            "no folder for the journal is named",
            where=caller,
            expected=f"journal=DIRECTORY, or {FOLDER_VARIABLE} in the environment, which a run sets",
            next_step="in a pytest test use `run.journaled(producer)`",
        )
    folder = ProducerFolder(Path(named))
    if not folder.exists and topic is None:
        raise BadInput(
            "no topic is named",
            where=f"{caller}, journal {named}",
            expected="topic=NAME, since no run has made this folder",
            next_step="name the topic whose records are to be accounted for",
        )
    new = None if topic is None else ProducerTarget(new_run_id(), topic, acks, id=its_id)
    target = folder.target() if new is None else folder.create(new)
    if topic is not None and target.topic != topic:
        raise BadInput(
            "the folder has journals of another topic",
            where=f"{caller}, journal {named}",
            expected=target.topic,
            found=topic,
            next_step="use a folder for each topic; in a run, leave `topic` out",
        )
    if its_id is not None:
        _refuse_other_id(its_id, target, f"{caller}, journal {named}")
    return folder, target


def _refuse_other_id(its_id: IdSpec, target: ProducerTarget, where: str) -> None:
    """Refuse a place of the id that a run says, or that other producers of the folder have not named."""
    of_target = "none" if target.id is None else target.id.words()
    if target.bootstrap:
        raise BadInput(
            "the run says where records have an id of their own",
            where=where,
            expected=f"no `id`; that of the run: {of_target}",
            found=f"id={its_id.words()}",
            next_step="leave `id` out, and say it in the experiment: `own: {id: ...}`",
        )
    if its_id != target.id:
        raise BadInput(
            "the folder has journals whose records have their id elsewhere",
            where=where,
            expected=of_target,
            found=its_id.words(),
            next_step="give each producer of a folder the same `id`, or use another folder",
        )


def unwritable(path: Path, error: OSError) -> JournalError:
    """The error for a file of a producer that cannot be written."""
    return JournalError(
        "a producer's journal cannot be written",
        where=str(path),
        expected="a writable folder with free space",
        found=error.strerror or str(error),
        next_step="name another folder, or free space",
    )


def _as_json(target: ProducerTarget) -> dict[str, Any]:
    written = {field.name: getattr(target, field.name) for field in fields(target)}
    return written | {"id": target.id and target.id.model_dump(by_alias=True, exclude_defaults=True)}


def _target_of(data: Any) -> ProducerTarget:
    if not isinstance(data, Mapping):
        raise ValueError("not a JSON object")
    run_id, topic, acks = data.get("run_id"), data.get("topic"), data.get("acks", "all")
    bootstrap = data.get("bootstrap", "")
    if not isinstance(run_id, int) or isinstance(run_id, bool) or not 0 <= run_id <= MAX_RUN:
        raise ValueError(f"run_id is {run_id!r}, not a number of 63 bits")
    if not isinstance(topic, str) or not topic or not isinstance(bootstrap, str):
        raise ValueError(f"topic is {topic!r}, bootstrap {bootstrap!r}: two texts are expected")
    if acks not in get_args(Acks):
        raise ValueError(f"acks is {acks!r}, none of 0, 1 and all")
    try:
        its_id = None if data.get("id") is None else IdSpec.model_validate(data["id"])
    except ValidationError as error:
        raise ValueError(f"id is {data['id']!r}: {error.errors()[0]['msg']}") from error
    return ProducerTarget(run_id, topic, acks, bootstrap, its_id)
