"""Expands the axes of a matrix to arms: each is an experiment of one arm, or a refusal with its reason."""

from __future__ import annotations

import itertools
import math
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaException, Producer
from pydantic import BaseModel, ValidationError

from harness.many.matrix.spec import MOST_ARMS, ArmSelector, MatrixSpec, Patch, matches
from harness.model.config.yaml_problems import FileText, as_bad_input
from harness.model.errors import BadInput
from harness.spec.experiment import Arm, Experiment
from workloads.java.java_settings import java_problem
from workloads.records.config.producer_settings import ProducerSettings
from workloads.records.config.workload_spec import WorkloadSpec

_LONGEST = 60


@dataclass(frozen=True, slots=True)
class MatrixArm:
    """One arm of a matrix. `labels` is its level on each axis. `experiment` has this arm alone; None: the
    client refuses the settings, and `refusal` says why."""

    name: str
    labels: dict[str, str]
    experiment: Experiment | None
    refusal: str | None = None


def expand_matrix(spec: MatrixSpec, origin: str) -> tuple[MatrixArm, ...]:
    """The arms of a matrix, in the order of its axes; the last axis varies fastest.

    Args:
        origin: the name of the matrix in messages.

    Raises:
        BadInput: too many arms or none, an include and an exclude that contradict each other, two axes that
            set one thing differently, an arm that is no valid experiment.
    """
    size = math.prod(len(axis.levels) for axis in spec.axes.values())
    if size > MOST_ARMS:
        raise BadInput(
            "the matrix is too large",
            where=origin,
            expected=f"at most {MOST_ARMS:,} arms",
            found=" x ".join(str(len(axis.levels)) for axis in spec.axes.values()) + f" = {size:,}",
            next_step="remove levels, or split it into several matrices",
        )
    everything = [
        dict(zip(spec.axes, labels, strict=True))
        for labels in itertools.product(*(axis.levels for axis in spec.axes.values()))
    ]
    _refuse_contradiction(spec, everything, origin)
    kept = [labels for labels in everything if _is_kept(spec, labels)]
    if not kept:
        raise BadInput(
            "the matrix is empty",
            where=origin,
            expected="at least one arm",
            found=f"`include` and `exclude` leave out all {size:,}",
            next_step="correct them",
        )
    names = _names(kept)
    return tuple(_arm(spec, name, labels, origin) for name, labels in zip(names, kept, strict=True))


def _is_kept(spec: MatrixSpec, labels: Mapping[str, str]) -> bool:
    wanted = not spec.include or any(matches(pattern, labels) for pattern in spec.include)
    return wanted and not any(matches(pattern, labels) for pattern in spec.exclude)


def _refuse_contradiction(spec: MatrixSpec, everything: list[dict[str, str]], origin: str) -> None:
    for number, include in enumerate(spec.include):
        mine = [labels for labels in everything if matches(include, labels)]
        if any(_is_kept(spec, labels) for labels in mine):
            continue
        against = [
            f"exclude[{other}] ({_selector_text(exclude)})"
            for other, exclude in enumerate(spec.exclude)
            if any(matches(exclude, labels) for labels in mine)
        ]
        raise BadInput(
            "include and exclude contradict each other",
            where=f"{origin}: include[{number}] ({_selector_text(include)})",
            expected="at least one arm of each include that no exclude removes",
            found=f"{', '.join(against)} removes all {len(mine)}",
            next_step="correct one of them",
        )


def _selector_text(where: ArmSelector) -> str:
    return ", ".join(f"{axis}={'|'.join(labels)}" for axis, labels in where.items()) or "every arm"


def _names(kept: list[dict[str, str]]) -> list[str]:
    """`acks=all_fault=kill`; a name that would be too long is cut and gets a hash of the whole."""
    names = []
    for labels in kept:
        full = "_".join(f"{axis}={label}" for axis, label in labels.items()).lower()
        full = "".join(
            char if char.isascii() and (char.isalnum() or char in "=+._-") else "-" for char in full
        )
        if len(full) > _LONGEST or full in names:
            # A hash of the labels, so that an arm keeps its name when other arms are added or removed.
            number = zlib.crc32(repr(sorted(labels.items())).encode())
            full = f"{full[: _LONGEST - 9]}-{number:08x}"
        names.append(full)
    return names


def _arm(spec: MatrixSpec, name: str, labels: dict[str, str], origin: str) -> MatrixArm:
    where = f"{origin}: arm {name}"
    patches = {f"{axis}={label}": spec.axes[axis].levels[label] for axis, label in labels.items()}
    merged = _merged(patches, where)
    base = spec.base
    producer = {**base.producer, **merged.producer}
    workload_data = {**base.workload.model_dump(exclude_unset=True), **merged.workload}
    try:
        workload = WorkloadSpec.model_validate(workload_data)
    except ValidationError as error:
        raise _invalid_arm(error, WorkloadSpec, workload_data, f"{where}, workload") from error
    settings = _settings(producer, workload, where)
    if isinstance(settings, str):
        return MatrixArm(name, labels, None, settings)
    broker = {**base.cluster.properties, **merged.broker}
    steps = merged.steps if merged.steps is not None else base.steps
    fields = {
        "name": spec.name,
        "title": spec.title,
        "description": spec.description,
        "cluster": {**base.cluster.model_dump(), **merged.cluster, "properties": broker},
        "topic": {**base.topic.model_dump(), "config": {**base.topic.config, **merged.topic}},
        "workload": workload,
        "readers": merged.readers if merged.readers is not None else base.readers,
        "steps": _with_faults(steps, merged, where),
        "arms": [Arm(name=name, producer=settings, promise={**base.promise, **merged.promise})],
    }
    try:
        experiment = Experiment.model_validate(fields)
    except ValidationError as error:
        raise _invalid_arm(error, Experiment, fields, where) from error
    return MatrixArm(name, labels, experiment)


def _settings(producer: dict[str, Any], workload: WorkloadSpec, where: str) -> ProducerSettings | str:
    """The producer's settings, or why the client refuses them."""
    try:
        settings = ProducerSettings.model_validate(producer)
    except ValidationError as error:
        misspelt = any(problem["type"] == "extra_forbidden" for problem in error.errors())
        refusal = None if misspelt else librdkafka_refuses(producer)
        if refusal is None:
            raise _invalid_arm(error, ProducerSettings, producer, f"{where}, producer") from error
        return refusal if workload.client == "librdkafka" else f"{refusal} (librdkafka's words)"
    if workload.client == "java":
        return java_problem(workload, settings) or settings
    refusal = librdkafka_refuses(settings.properties()) if workload.client == "librdkafka" else None
    return refusal or settings


def librdkafka_refuses(properties: Mapping[str, Any]) -> str | None:
    """Why librdkafka cannot create a producer with these properties; None: it can.

    No broker is needed: a producer connects in the background once it is created, so it gets an address where
    none answers.
    """
    settings = {name: value for name, value in properties.items() if name != "extra"}
    settings |= dict(properties.get("extra") or {})
    try:
        Producer({**settings, "bootstrap.servers": "127.0.0.1:1", "log_level": 0, "error_cb": lambda _: None})
    except (KafkaException, TypeError, ValueError) as error:
        cause = error.args[0] if error.args else error
        return str(cause.str()) if hasattr(cause, "str") else str(cause)
    return None


def _merged(patches: Mapping[str, Patch], where: str) -> Patch:
    """All levels of an arm as one.

    Raises:
        BadInput: two of them set the same thing to different values.
    """
    set_by: dict[tuple[str, ...], tuple[str, Any]] = {}
    for level, patch in patches.items():
        for path, value in _settings_in(patch):
            other, held = set_by.get(path, (level, value))
            if held != value:
                raise BadInput(
                    f"two axes set {'.'.join(path)} differently",
                    where=where,
                    found=f"{other} sets {_shortened(held)}, {level} sets {_shortened(value)}",
                    next_step="let one axis set it, or exclude the arms in which both do",
                )
            set_by[path] = level, value
    fields: dict[str, Any] = {}
    for (field, *key), (_, value) in set_by.items():
        if key:
            fields.setdefault(field, {})[key[0]] = value
        else:
            fields[field] = value
    return Patch.model_construct(**fields)


def _settings_in(patch: Patch) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Everything that a level sets, by its path."""
    for field, value in patch:
        if isinstance(value, dict):
            yield from (((field, key), one) for key, one in value.items())
        elif value is not None:
            yield (field,), value


def _shortened(value: object) -> str:
    text = str(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _with_faults(steps: tuple[Any, ...], merged: Patch, where: str) -> tuple[Any, ...]:
    """The steps with an axis's faults in the one write step."""
    if merged.faults is None:
        return steps
    writes = sum(step.write is not None for step in steps)
    if writes != 1:
        raise BadInput(
            "an axis sets `faults`, but there is not exactly one write step",
            where=where,
            expected="one write step in `base.steps`",
            found=f"{writes}",
            next_step="let the axis set `steps` as a whole",
        )
    given = {"faults": merged.faults}
    return tuple(
        step.model_copy(update={"write": step.write.model_copy(update=given)}) if step.write else step
        for step in steps
    )


def _invalid_arm(error: ValidationError, model: type[BaseModel], data: Any, where: str) -> BadInput:
    return as_bad_input(
        error,
        FileText(where, "arm", None, data, model.model_json_schema()),
        "correct the base or the level; `kafka-chaos matrix --schema` prints every key",
    )
