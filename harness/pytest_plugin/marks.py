"""The marker `chaos`: without arguments it is a label; with arguments it says what the fixture runs."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from harness.spec.experiment import Experiment

MARK = (
    "chaos(experiment=None, *, arms=(), seed=None, version=None, image=None, profile=None): the test breaks "
    "a real Kafka cluster. An experiment (a built-in's name, a YAML file, a dict or an Experiment) is what "
    "the fixture `chaos` runs; the other arguments override options and ini settings."
)


@dataclass(frozen=True, slots=True)
class ChaosMarker:
    """The marker's arguments; None: not given."""

    experiment: str | dict[str, Any] | Experiment | None = None
    arms: tuple[str, ...] = field(default=(), kw_only=True)
    seed: int | None = field(default=None, kw_only=True)
    version: str | None = field(default=None, kw_only=True)
    image: str | None = field(default=None, kw_only=True)
    profile: str | None = field(default=None, kw_only=True)


_SIGNATURE = inspect.signature(ChaosMarker)


def marker_of(item: pytest.Item) -> ChaosMarker:
    """Arguments of a test's closest marker that has any; one without arguments only labels the test.

    Raises:
        pytest.UsageError: arguments that the marker does not take.
    """
    for mark in item.iter_markers("chaos"):
        if not mark.args and not mark.kwargs:
            continue
        try:
            arguments = _SIGNATURE.bind(*mark.args, **mark.kwargs).arguments
        except TypeError as error:
            raise pytest.UsageError(
                f"{item.nodeid}: the marker chaos cannot be used: {error}; it is {MARK}"
            ) from error
        arms = arguments.get("arms", ())
        return ChaosMarker(**{**arguments, "arms": (arms,) if isinstance(arms, str) else tuple(arms)})
    return ChaosMarker()


def refuse_unused_marker(item: pytest.Item) -> None:
    """Refuse arguments that would have no effect.

    Raises:
        pytest.UsageError: the marker takes no such arguments, or the test does not take the fixture.
    """
    if marker_of(item) != ChaosMarker() and "chaos" not in getattr(item, "fixturenames", ()):
        raise pytest.UsageError(
            f"{item.nodeid}: the marker chaos names an experiment, but the test does not take the fixture "
            "`chaos`, so it would not run: add `chaos` to its parameters, or remove the arguments"
        )


def marked_arms(item: pytest.Item) -> tuple[str, ...]:
    """The arms that the marker names, else all of its experiment.

    Raises:
        pytest.UsageError: the marker names no experiment, or one that cannot be read.
    """
    from harness.model.errors import BadInput
    from harness.pytest_plugin.experiments import load_experiment

    mark = marker_of(item)
    if mark.experiment is None:
        raise pytest.UsageError(f"{item.nodeid}: chaos_arm needs @pytest.mark.chaos(EXPERIMENT)")
    try:
        return mark.arms or tuple(arm.name for arm in load_experiment(mark.experiment, item.path.parent).arms)
    except BadInput as error:
        raise pytest.UsageError(f"{item.nodeid}: {error}") from error
