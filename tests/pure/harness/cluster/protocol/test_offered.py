"""What a broker does not offer is not sent to it: it would close the connection."""

from __future__ import annotations

from typing import Any

import pytest
from kio.schema.api_versions import v0 as versions_v0
from kio.schema.errors import ErrorCode
from kio.static.primitive import i16

from harness.cluster.protocol.connection import BrokerConnection, NotOfferedError
from harness.model.kafka_protocol import API_KEYS

pytestmark = pytest.mark.pure


class Silent(BrokerConnection):
    """A connection that may send nothing."""

    def _exchange(self, request: Any, answer: type[Any]) -> Any:
        raise AssertionError(f"{request} was sent to be answered with {answer}")


class Telling(BrokerConnection):
    """A connection whose broker answers ApiVersions only."""

    def _exchange(self, request: Any, answer: type[Any]) -> Any:
        assert isinstance(request, versions_v0.ApiVersionsRequest)
        one = versions_v0.response.ApiVersion(api_key=i16(3), min_version=i16(0), max_version=i16(12))
        return answer(error_code=ErrorCode.none, api_keys=(one,))


def test_what_a_broker_offers_is_its_answer_to_api_versions() -> None:
    assert Telling(7, "h", 1).api_versions() == {3: (0, 12)}


@pytest.mark.parametrize(
    ("offered", "told"),
    [
        ({}, "broker 7 does not offer Metadata in version 7: it offers no version of it"),
        ({3: (0, 6)}, "it offers versions 0 to 6"),
        ({3: (8, 12)}, "it offers versions 8 to 12"),
    ],
)
def test_a_request_that_is_not_offered_is_not_sent(offered: dict[int, tuple[int, int]], told: str) -> None:
    connection = Silent(7, "h", 1)
    connection.offered = offered
    with pytest.raises(NotOfferedError) as refused:
        connection.metadata(())
    assert told in str(refused.value)


@pytest.mark.parametrize("offered", [None, {3: (0, 12)}])
def test_others_are_sent(offered: dict[int, tuple[int, int]] | None) -> None:
    connection = Silent(7, "h", 1)
    connection.offered = offered
    with pytest.raises(AssertionError, match="was sent"):
        connection.metadata(())


def test_without_a_quorum_to_describe_no_controller_is_known() -> None:
    connection = Silent(7, "h", 1)
    connection.offered = {API_KEYS["Metadata"]: (0, 12)}
    assert connection.quorum_leader() is None
    assert connection.lagging_voters() == ()
