"""Sets levels of a KRaft cluster's features (KIP-584, KIP-778) over the Kafka protocol.

UpdateFeatures 1 is understood by brokers from 3.3 to 4.x, which forward it to the active controller.
"""

from __future__ import annotations

from collections.abc import Mapping

from kio.schema.errors import ErrorCode
from kio.schema.update_features.v1 import request as update_request
from kio.schema.update_features.v1 import response as update_response
from kio.static.primitive import i8, i16

from harness.protocol.connection import BrokerConnection

_UPGRADE, _SAFE_DOWNGRADE = i8(1), i8(2)


def set_features(connection: BrokerConnection, levels: Mapping[str, int]) -> dict[str, str]:
    """Upgrade or downgrade features to levels; returns the reason of each refusal by feature (empty: all
    set).

    Raises:
        OSError: the broker does not answer.
    """
    refused = {}
    for feature, level in levels.items():
        up = _set(connection, feature, level, _UPGRADE)
        down = _set(connection, feature, level, _SAFE_DOWNGRADE) if up is not None else None
        if up is not None and down is not None:
            refused[feature] = down
    return refused


def _set(connection: BrokerConnection, feature: str, level: int, way: i8) -> str | None:
    update = update_request.FeatureUpdateKey(feature=feature, max_version_level=i16(level), upgrade_type=way)
    request = update_request.UpdateFeaturesRequest(feature_updates=(update,))
    answer = connection.ask(request, update_response.UpdateFeaturesResponse)
    errors = [(answer.error_code, answer.error_message)]
    errors += [(one.error_code, one.error_message) for one in answer.results]
    return next(
        (
            f"{code.name.upper()}: {why or 'no reason given'}"
            for code, why in errors
            if code != ErrorCode.none
        ),
        None,
    )
