"""The marker `chaos`: bare, it says that a test breaks things; with arguments, what it runs."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from harness.spec.experiment import Experiment

MARK = (
    "chaos(experiment=None, *, arms=(), seed=None, version=None, image=None, profile=None): the test breaks "
    "a real Kafka cluster. With an experiment (a built-in's name, a YAML file, a dict or an Experiment) it "
    "is what the fixture `chaos` runs; the rest goes over options and ini settings."
)


@dataclass(frozen=True, slots=True)
class Marked:
    """The marker's arguments; None: not given."""

    experiment: str | dict[str, Any] | Experiment | None = None
    arms: tuple[str, ...] = field(default=(), kw_only=True)
    seed: int | None = field(default=None, kw_only=True)
    version: str | None = field(default=None, kw_only=True)
    image: str | None = field(default=None, kw_only=True)
    profile: str | None = field(default=None, kw_only=True)


_SIGNATURE = inspect.signature(Marked)


def marked(item: pytest.Item) -> Marked:
    """Arguments of a test's marker, the closest that has any: a bare one only labels the test.

    Raises:
        pytest.UsageError: arguments that the marker does not take.
    """
    for mark in item.iter_markers("chaos"):
        if not mark.args and not mark.kwargs:
            continue
        try:
            given = _SIGNATURE.bind(*mark.args, **mark.kwargs).arguments
        except TypeError as error:
            raise pytest.UsageError(
                f"{item.nodeid}: the marker chaos cannot be used: {error}; it is {MARK}"
            ) from error
        arms = given.get("arms", ())
        return Marked(**{**given, "arms": (arms,) if isinstance(arms, str) else tuple(arms)})
    return Marked()


def refuse_strange(item: pytest.Item) -> None:
    """Refuse arguments of which nothing would come.

    Raises:
        pytest.UsageError: the marker takes no such arguments, or nobody in the test would use them.
    """
    if marked(item) != Marked() and "chaos" not in getattr(item, "fixturenames", ()):
        raise pytest.UsageError(
            f"{item.nodeid}: the marker chaos names an experiment, but the test does not take the fixture "
            "`chaos`, so it would not run: add `chaos` to its parameters, or take the arguments away"
        )


def arms_of(item: pytest.Item) -> tuple[str, ...]:
    """The arms that the marker names, else all of its experiment.

    Raises:
        pytest.UsageError: the marker names no experiment, or one that cannot be read.
    """
    from harness.model.errors import BadInput
    from harness.pytest_plugin.experiment_lookup import loaded

    mark = marked(item)
    if mark.experiment is None:
        raise pytest.UsageError(f"{item.nodeid}: chaos_arm needs @pytest.mark.chaos(EXPERIMENT)")
    try:
        return mark.arms or tuple(arm.name for arm in loaded(mark.experiment, item.path.parent).arms)
    except BadInput as error:
        raise pytest.UsageError(f"{item.nodeid}: {error}") from error
