"""Upgrades and downgrades that Kafka would refuse are refused with the experiment, with their place in it."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from harness.model.errors import BadInput
from harness.spec.experiment import Experiment
from harness.spec.overrides import ClusterOptions, overridden
from harness.spec.version_problems import versions_named

pytestmark = pytest.mark.pure

Fault = dict[str, Any]


def restart(version: str, **more: Any) -> Fault:
    return {"restart": {"version": version, **more}}


def finalize(release: str, **more: Any) -> Fault:
    return {"finalize": {"release": release, **more}}


def experiment(*faults: Fault, **cluster: Any) -> Experiment:
    return Experiment.model_validate(
        {
            "name": "x",
            "title": "x",
            "cluster": {"version": "3.9.2", **cluster},
            "steps": [{"write": {"name": "w", "seconds": 9}}, *({"inject": fault} for fault in faults)],
            "arms": [{"name": "a"}],
        }
    )


UP = (restart("4.1.1"), finalize("4.1"), restart("4.3.1"), finalize("4.3"), restart("4.4.0"), finalize("4.4"))


@pytest.mark.parametrize(
    "faults",
    [
        UP,
        (restart("4.1.1"), restart("4.4.0"), restart("3.9.2")),
        (*UP[:2], finalize("4.0"), restart("4.3.1")),
        (*UP[:3], restart("4.1.1")),
        (restart("4.1.1"), finalize("4.0"), restart("4.0.0"), restart("4.1.1"), finalize("4.1")),
        (restart("4.1.1", target={"broker": 1}), restart("3.9.2", target={"broker": 1})),
    ],
)
def test_what_kafka_allows(faults: tuple[Fault, ...]) -> None:
    experiment(*faults)


@pytest.mark.parametrize(
    ("faults", "told"),
    [
        (
            (*UP[:2], restart("3.9.2")),
            "Kafka 3.9.2 does not start with the finalised levels: Kafka 3.9 supports metadata.version up to",
        ),
        ((*UP, restart("4.3.1")), "supports metadata.version up to 4.3-IV0, not 4.4-IV2"),
        ((*UP[:4], finalize("4.1")), "from 4.3-IV0 to 4.1-IV1: 4.3-IV0 changed the records"),
        ((*UP[:2], finalize("3.9")), "from 4.1-IV1 to 3.9-IV0: 4.0-IV1 changed the records"),
        (
            (finalize("4.1"),),
            "a node may run Kafka 3.9 at this point, and Kafka 3.9 supports metadata.version up to",
        ),
        (
            (restart("4.1.1", target={"broker": 1}), finalize("4.1")),
            "a node may run Kafka 3.9 at this point",
        ),
        ((finalize("3.9"),), "the features of Kafka 3.9 are finalised already"),
    ],
)
def test_what_kafka_refuses(faults: tuple[Fault, ...], told: str) -> None:
    with pytest.raises(ValidationError) as raised:
        experiment(*faults)
    assert told in str(raised.value)


def test_a_level_that_was_lowered_is_still_read() -> None:
    """Lowering a level leaves what storage was formatted with, and the older records of the metadata log."""
    lowered = (finalize("4.0"), restart("4.0.0"))
    told = r"lowered since: Kafka 4.0 supports metadata.version up to 4.0-IV3, not 4.1-IV1"
    with pytest.raises(ValidationError, match=told):
        experiment(*lowered, version="4.1.1")
    with pytest.raises(ValidationError, match=told):
        experiment(*UP[:2], *lowered)


def test_other_features_are_looked_at_too() -> None:
    with pytest.raises(ValidationError, match=r"Kafka 4.0 supports share.version up to 0, not 1"):
        experiment(
            restart("4.0.0"), version="4.1.1", metadata_version="4.0-IV3", features={"share.version": 1}
        )
    experiment(restart("4.0.0"), version="4.1.1", metadata_version="4.0-IV3")


def test_the_level_that_storage_is_formatted_with() -> None:
    experiment(restart("3.9.2"), version="4.1.1", metadata_version="3.9-IV0")
    with pytest.raises(ValidationError, match=r"Kafka 3.9.2 does not start .* not 4.0-IV0"):
        experiment(restart("3.9.2"), version="4.1.1", metadata_version="4.0-IV0")
    with pytest.raises(ValidationError, match=r"from 3.3-IV3 on, not 3.3-IV1"):
        experiment(restart("4.1.1"), metadata_version="3.3-IV1")
    with pytest.raises(ValidationError, match=r"metadata_version 3.9-IV7 is not known here"):
        experiment(restart("4.1.1"), metadata_version="3.9-IV7")


def test_clusters_without_versions_of_their_own() -> None:
    with pytest.raises(ValidationError, match="nodes with an `image` of your own cannot get another version"):
        experiment(restart("4.1.1"), image="mine:1")
    with pytest.raises(ValidationError, match="nodes of a ZooKeeper cluster cannot get another version"):
        experiment(restart("3.9.1"), metadata="zookeeper")


def test_a_random_menu_has_no_order() -> None:
    menu = [{"fault": restart("4.1.1"), "for": 1}]
    write = {"name": "w", "seconds": 9, "faults": [{"random": {"menu": menu, "every": 3}}]}
    with pytest.raises(ValidationError, match="restart with a version cannot be drawn from a random menu"):
        Experiment.model_validate(
            {"name": "x", "title": "x", "cluster": {"version": "3.9.2"}, "steps": [{"write": write}],
             "arms": [{"name": "a"}]}
        )  # fmt: skip


def test_another_version_on_the_command_line() -> None:
    given = experiment(*UP[:2])
    with pytest.raises(BadInput, match=r"Kafka 4.1.1 does not start with"):
        overridden(given, ClusterOptions("4.3.1"))
    assert overridden(given, ClusterOptions("4.0.0")).cluster.version == "4.0.0"


def test_the_versions_whose_images_are_needed() -> None:
    assert versions_named(experiment(*UP, restart("4.4.0", how="kill")).steps) == ("4.1.1", "4.3.1", "4.4.0")
