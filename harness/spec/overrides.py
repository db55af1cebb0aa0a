"""Settings of the command line that go over an experiment's own."""

from __future__ import annotations

from harness.model.errors import BadInput
from harness.spec.cluster import ClusterSpec, Profile
from harness.spec.experiment import Experiment


def overridden(
    experiment: Experiment, version: str | None, image: str | None, profile: str | None
) -> Experiment:
    """The experiment on another Kafka version, image or timing profile (None: as written).

    Raises:
        BadInput: there is no such profile.
    """
    if profile is not None and profile not in tuple(Profile):
        raise BadInput(
            f"no timing profile is called {profile!r}",
            expected=f"one of {', '.join(Profile)}",
            next_step="correct --profile, or leave it out",
        )
    changes: dict[str, object] = {}
    if version is not None:
        changes["version"] = version
    if image is not None:
        changes["image"] = image
    if profile is not None:
        changes["profile"] = Profile(profile)
    cluster = ClusterSpec.model_validate(experiment.cluster.model_dump() | changes)
    return experiment.model_copy(update={"cluster": cluster})
