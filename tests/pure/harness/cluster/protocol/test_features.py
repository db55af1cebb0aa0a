"""Levels of features are set up or down, and a refusal is told in Kafka's words."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, cast

import pytest
from kio.schema.errors import ErrorCode
from kio.schema.update_features.v1.response import UpdatableFeatureResult, UpdateFeaturesResponse
from kio.static.primitive import i32Timedelta
from pydantic import ValidationError

from harness.cluster.protocol.admin import set_features
from harness.cluster.protocol.connection import BrokerConnection
from harness.spec.cluster import ClusterSpec

pytestmark = pytest.mark.pure

UP, DOWN = 1, 2


class Broker:
    """Has one feature; refuses a change in the wrong direction, as Kafka does."""

    def __init__(self, level: int) -> None:
        self.level = level

    def ask(self, request: Any, _: Any) -> UpdateFeaturesResponse:
        (update,) = request.feature_updates
        wanted, way = int(update.max_version_level), int(update.upgrade_type)
        error = ErrorCode.none
        if update.feature != "known" or (wanted < self.level) != (way == DOWN):
            error = ErrorCode.invalid_update_version
        else:
            self.level = wanted
        result = UpdatableFeatureResult(feature=update.feature, error_code=error, error_message=None)
        return UpdateFeaturesResponse(
            throttle_time=i32Timedelta.parse(timedelta()),
            error_code=ErrorCode.none,
            error_message=None,
            results=(result,),
        )


@pytest.mark.parametrize("level", [0, 2])
def test_up_or_down(level: int) -> None:
    broker = Broker(1)
    assert set_features(cast(BrokerConnection, broker), {"known": level}) == {}
    assert broker.level == level


def test_a_refusal_is_told() -> None:
    refused = set_features(cast(BrokerConnection, Broker(1)), {"other": 1})
    assert refused == {"other": "INVALID_UPDATE_VERSION: no reason given"}


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"features": {"a": 1}, "metadata": "zookeeper", "version": "3.9.2"}, "only KRaft clusters have"),
        ({"features": {"a": -1}}, "greater than or equal to 0"),
    ],
)
def test_features_that_cannot_be_are_refused(fields: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        ClusterSpec(**fields)
