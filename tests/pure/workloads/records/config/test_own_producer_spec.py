"""The user's own program as data: its command, its environment, and the names in braces."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from harness.model.errors import words_of
from workloads.records.config.own_producer_spec import OWN_PLACEHOLDERS, OwnProducerSpec, filled
from workloads.records.config.workload_spec import WorkloadSpec

pytestmark = pytest.mark.pure


@pytest.mark.parametrize("name", OWN_PLACEHOLDERS)
def test_known_names_in_braces_are_filled_in(name: str) -> None:
    spec = OwnProducerSpec(command=("shop", f"--x={{{name}}}"), env={"X": f"<{{{name}}}>"})
    assert [filled(text, {name: "7"}) for text in spec.texts] == ["shop", "--x=7", "<7>"]


@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        ("{{topic}}", "{topic}"),
        ("{{anything}}", "{anything}"),
        ("{{{topic}}}", "{{topic}}"),
        ("${topic}", "${topic}"),
        ('{"topic": 1}', '{"topic": 1}'),
        ("{TOPIC}", "{TOPIC}"),
        ("{topic", "{topic"),
        ("{}", "{}"),
        ("{topic}{topic}", "tt"),
    ],
)
def test_other_braces_are_the_programs(text: str, becomes: str) -> None:
    OwnProducerSpec(command=("shop", text))
    assert filled(text, {"topic": "t"}) == becomes


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"command": ["shop", "{brokers}"]}, "'{brokers}' holds {brokers}: did you mean {bootstrap}?"),
        ({"command": ["shop", "{topik}"]}, "did you mean {topic}?"),
        ({"command": ["shop", "{run_id}"]}, "did you mean {run}?"),
        ({"command": ["shop", "{colour}"]}, "there are {bootstrap}, {topic}, {journal}, {run}, {producer}"),
        ({"command": ["shop", "{colour}"]}, "Braces of your own are written {{colour}}"),
        ({"command": ["shop"], "env": {"X": "{colour}"}}, "holds {colour}"),
        ({"command": []}, "at least 1 item"),
        ({"command": [" "]}, "it is empty"),
        ({"command": ["shop", "\0"]}, "a character that no program can be given"),
        ({"command": ["shop", "\ud800"]}, "a character that no program can be given"),
        ({"command": ["shop"], "env": {"X\0": ""}}, "a character that no program can be given"),
        ({"command": ["shop"], "env": {"X=": ""}}, "cannot be the name of an environment variable"),
        ({"command": ["shop"], "env": {"": "x"}}, "cannot be the name of an environment variable"),
        ({"command": ["shop"], "env": {"KAFKA_CHAOS_RUN": "1"}}, "the run sets KAFKA_CHAOS_RUN itself"),
        ({"env": {"X": "1"}}, "`env` is that of the program that `command` starts"),
        ({"image": "node:22"}, "`image` is that of the program that `command` starts"),
        ({"command": ["shop"], "folders": ["/x"]}, "`folders` are those of a container"),
        ({"close_seconds": 0}, "greater than or equal to 1"),
        ({"close_seconds": 3601}, "less than or equal to 3600"),
    ],
)
def test_what_cannot_be_started_is_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError) as refused:
        OwnProducerSpec.model_validate(given)
    assert words in words_of(refused.value)


def test_a_command_with_the_number_of_a_producer_is_one_for_each() -> None:
    assert not OwnProducerSpec().one_each
    assert not OwnProducerSpec(command=("shop", "{{producer}}", "{topic}")).one_each
    assert OwnProducerSpec(command=("shop", "{producer}")).one_each
    assert OwnProducerSpec(command=("shop",), env={"N": "p{producer}"}).one_each


def test_the_time_to_close_is_the_experiments() -> None:
    assert WorkloadSpec(client="own").close_seconds is None
    assert WorkloadSpec(client="own", own=OwnProducerSpec()).close_seconds is None
    assert WorkloadSpec(client="own", own=OwnProducerSpec(close_seconds=60)).close_seconds == 60


def test_a_command_needs_the_client_that_is_the_users() -> None:
    with pytest.raises(ValidationError, match="`own` applies to `client: own` only"):
        WorkloadSpec(own=OwnProducerSpec(command=("shop",)))
