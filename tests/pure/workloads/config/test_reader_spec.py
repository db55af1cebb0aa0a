"""Live readers as data: names, defaults, contradictions."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from workloads.config.reader_spec import ReaderSpec

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"members": 2}, "there is no group"),
        ({"commits": "auto"}, "only a group has offsets"),
        ({"restarts": [3, 2]}, "in order of time"),
        ({"restarts": [-1]}, "greater than or equal to 0"),
        ({"extra": {"client.rack": "r1"}}, "set by the reader itself"),
        ({"isolation": "serializable"}, "read_committed"),
        ({"name": "A b"}, "should match pattern"),
        ({"rak": "r1"}, "Extra inputs are not permitted"),
    ],
)
def test_contradictions_are_refused_in_clear_words(given: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        ReaderSpec.model_validate({"name": "one", **given})


def test_members_have_names_of_their_own() -> None:
    alone = ReaderSpec(name="alone")
    assert alone.member_names == ("alone",)
    group = ReaderSpec(name="work", group="g", members=3)
    assert group.member_names == ("work-0", "work-1", "work-2")


def test_what_reaches_the_client() -> None:
    plain = ReaderSpec(name="plain").to_librdkafka("a:1", "g")
    assert "client.rack" not in plain
    assert (plain["isolation.level"], plain["enable.auto.commit"]) == ("read_uncommitted", False)
    near = ReaderSpec(
        name="near",
        group="g",
        rack="r2",
        isolation="read_committed",
        commits="auto",
        commit_every=0.5,
        extra={"session.timeout.ms": 6000},
    ).to_librdkafka("a:1", "g")
    assert near["client.rack"] == "r2"
    assert (near["isolation.level"], near["enable.auto.commit"]) == ("read_committed", True)
    assert (near["auto.commit.interval.ms"], near["session.timeout.ms"]) == (500, "6000")
    assert near["auto.offset.reset"] == "error"
