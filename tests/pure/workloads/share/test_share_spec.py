"""Share groups as data: what is refused, and the settings of group and client."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from workloads.share.share_spec import ShareSpec

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"mode": "implicit", "acknowledge": "mixed"}, "`mode: implicit` accepts every record"),
        ({"extra": {"group.id": "x"}}, "group.id is set by the member itself"),
        ({"client": "java", "pauses": [{"at": 1, "seconds": 2}]}, "use `client: librdkafka`"),
        ({"version": "4.2.0"}, "set `client: java`"),
        ({"members": 0}, "greater than or equal to 1"),
        ({"lock": 0.1}, "greater than or equal to 1"),
        ({"acknowledge": "renew"}, "'accept', 'release', 'reject' or 'mixed'"),
        ({"pauses": [{"at": 1}]}, "Field required"),
    ],
)
def test_what_does_not_fit_together_is_refused(given: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        ShareSpec(name="q", **given)


def test_only_what_is_given_becomes_a_setting_of_the_group() -> None:
    # A broker refuses settings that it does not know, so those that nobody asked for are left out.
    assert ShareSpec(name="q").group_config() == {"share.auto.offset.reset": "earliest"}
    spec = ShareSpec(name="q", group="work", lock=2.5, delivery_limit=3, members=2)
    assert spec.group_config() == {
        "share.auto.offset.reset": "earliest",
        "share.record.lock.duration.ms": "2500",
        "share.delivery.count.limit": "3",
    }
    assert spec.member_names == ("q-0", "q-1")
    assert spec.group_id(255) == "work-ff"


def test_what_a_group_does_not_set_is_the_brokers() -> None:
    plain, own = ShareSpec(name="q"), ShareSpec(name="q", lock=2, delivery_limit=3)
    brokers = {"group.share.delivery.count.limit": "7", "group.share.record.lock.duration.ms": "15500"}
    assert (plain.limit({}), plain.lock_seconds({})) == (5, 30.0)
    assert (plain.limit(brokers), plain.lock_seconds(brokers)) == (7, 15.5)
    assert (own.limit(brokers), own.lock_seconds(brokers)) == (3, 2.0)


def test_the_client_gets_the_mode_and_what_else_is_given() -> None:
    spec = ShareSpec(name="q", mode="implicit", extra={"max.poll.records": "7"})
    made = spec.properties("h:1", "q-ff", {"security.protocol": "SSL"})
    assert made["group.id"] == "q-ff"
    assert made["share.acknowledgement.mode"] == "implicit"
    assert (made["max.poll.records"], made["security.protocol"]) == ("7", "SSL")
    java = ShareSpec(name="q", client="java").properties("h:1", "q-ff")
    assert not {"socket.timeout.ms", "fetch.wait.max.ms"} & set(java)
