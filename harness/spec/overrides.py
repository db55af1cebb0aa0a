"""What the command line and tests override of a file: version, image, timing profile, and payload."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from pydantic import ValidationError

from harness.model.errors import BadInput, words_of
from harness.spec.cluster import ClusterSpec, Profile
from harness.spec.experiment import Experiment
from harness.spec.version_problems import version_problems
from workloads.records.config.workload_spec import WorkloadSpec


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """Another Kafka version, image or timing profile for a cluster (None: as written)."""

    version: str | None = None
    image: str | None = None
    profile: str | None = None

    def given(self) -> dict[str, str]:
        """Those that are given, by the name of their field in a `ClusterSpec`."""
        return {name: value for name, value in asdict(self).items() if value is not None}


AS_WRITTEN = ClusterOptions()
"""No option is given."""


def overridden(experiment: Experiment, options: ClusterOptions) -> Experiment:
    """The experiment on the cluster that the options ask for.

    Raises:
        BadInput: no such profile, or a version or image that the experiment's cluster, its share groups or
            its upgrades cannot have.
    """
    before = experiment.cluster.model_dump()
    fields = override_cluster(before, options, where=experiment.name)
    changed = experiment.model_copy(update={"cluster": ClusterSpec.model_validate(fields)})
    for problem in (*changed.cluster_problems(), *version_problems(changed.steps, changed.cluster)):
        raise BadInput(
            "the experiment cannot have this version, image or profile",
            where=f"{experiment.name}: {problem.where}",
            found=problem.message,
            next_step="correct --kafka-version or --image, or the experiment",
        )
    return changed


def with_payload(experiment: Experiment, payload: Any) -> Experiment:
    """The experiment with records that hold this payload, in all of its arms; `payload` is what stands in the
    workload of an experiment file, or a function (see `workloads.records.config.payload_spec.PayloadSpec`).

    Raises:
        BadInput: no payload, or one that does not go with a workload of the experiment.
    """
    given = {"python": payload} if callable(payload) else payload

    def changed(workload: WorkloadSpec) -> WorkloadSpec:
        fields = workload.model_dump(by_alias=True, exclude={"record_size"})
        return WorkloadSpec.model_validate({**fields, "payload": given})

    try:
        arms = [
            arm if arm.workload is None else arm.model_copy(update={"workload": changed(arm.workload)})
            for arm in experiment.arms
        ]
        update = {"workload": changed(experiment.workload), "arms": tuple(arms)}
    except ValidationError as error:
        raise BadInput(
            "the records of this experiment cannot hold this payload",
            where=experiment.name,
            expected="{'json': ...}, {'avro': ...}, {'python': 'module:function'}, or a function",
            found=words_of(error),
            next_step="correct the payload: docs/how-to/own-consumer.md shows each kind",
        ) from error
    return experiment.model_copy(update=update)


def override_cluster(fields: Mapping[str, Any], options: ClusterOptions, *, where: str) -> dict[str, Any]:
    """The fields of a `ClusterSpec` with what the options ask for.

    Raises:
        BadInput: no such profile, or a version or image that this cluster cannot have; `where` names the
            experiment, menu or matrix.
    """
    chosen = options.given()
    if chosen.get("profile", Profile.KAFKA) not in tuple(Profile):
        raise BadInput(
            f"no timing profile is called {options.profile!r}",
            expected=f"one of {', '.join(Profile)}",
            next_step="correct --profile, or leave it out",
        )
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
