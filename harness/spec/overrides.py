"""Version, image and timing profile of the command line, which override those of a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from harness.model.errors import BadInput, words_of
from harness.spec.cluster import ClusterSpec, Profile
from harness.spec.experiment import Experiment


def overridden(
    experiment: Experiment, version: str | None, image: str | None, profile: str | None
) -> Experiment:
    """The experiment on another Kafka version, image or timing profile (None: as written).

    Raises:
        BadInput: no such profile, or a version or image that the experiment's cluster cannot have.
    """
    before = experiment.cluster.model_dump()
    fields = override_cluster(before, version, image, profile, where=experiment.name)
    return experiment.model_copy(update={"cluster": ClusterSpec.model_validate(fields)})


def override_cluster(
    fields: Mapping[str, Any], version: str | None, image: str | None, profile: str | None, *, where: str
) -> dict[str, Any]:
    """The fields of a `ClusterSpec` with another Kafka version, image or timing profile (None: unchanged).

    Raises:
        BadInput: no such profile, or a version or image that this cluster cannot have; `where` names the
            experiment, menu or matrix.
    """
    if profile is not None and profile not in tuple(Profile):
        raise BadInput(
            f"no timing profile is called {profile!r}",
            expected=f"one of {', '.join(Profile)}",
            next_step="correct --profile, or leave it out",
        )
    options = {"version": version, "image": image, "profile": profile}
    chosen = {key: value for key, value in options.items() if value is not None}
    if not chosen:
        return dict(fields)
    changed = {**fields, **chosen}
    try:
        ClusterSpec.model_validate(changed)
    except ValidationError as error:
        raise BadInput(
            "the cluster cannot have this version, image or profile",
            where=where,
            found=words_of(error),
            next_step="correct --kafka-version, --image or --profile",
        ) from error
    return changed
