"""The command lines of Kafka's own applications."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.application.builtin import find
from harness.application.places import Places
from harness.application.programs import connect_worker, kafka_streams, mirrormaker
from harness.application.programs.lifecycle import JARS_VARIABLE
from harness.model.errors import BadInput

pytestmark = pytest.mark.pure

_PARSERS = {
    "kafka-streams": kafka_streams.parser,
    "mirrormaker": mirrormaker.parser,
    "connect-mirror": connect_worker.parser,
    "connect-file-source": connect_worker.parser,
    "connect-file-sink": connect_worker.parser,
}
_COMMON = {"commit_interval_ms": 500, "settings": {"a.b": "c=d"}}
_OPTIONS = {
    "kafka-streams": {"guarantee": "exactly_once_v2", **_COMMON},
    "connect-file-sink": _COMMON,
}


def _parsed(name: str, tmp_path: Path) -> tuple[Any, dict[str, str]]:
    built_in = find(name)
    options = built_in.parsed(_OPTIONS.get(name, {"guarantee": "exactly-once", **_COMMON}))
    places = Places("b:1", "in", "out", tmp_path, "group", 0, "c:1")
    command = built_in.command(options, places, (Path("x.jar"), Path("y.jar")))
    return _PARSERS[name]().parse_args(command.arguments[3:]), command.environment


@pytest.mark.parametrize("name", _PARSERS)
def test_the_program_takes_what_the_command_gives(name: str, tmp_path: Path) -> None:
    parsed, environment = _parsed(name, tmp_path)
    assert (parsed.bootstrap, parsed.input, parsed.output, parsed.group) == ("b:1", "in", "out", "group")
    assert (parsed.commit_interval_ms, parsed.setting) == (500, ["a.b=c=d"])
    if name != "kafka-streams":
        assert parsed.output_bootstrap == "c:1"
    assert environment[JARS_VARIABLE] == "x.jar:y.jar"
    if name != "connect-file-sink":
        assert parsed.guarantee.startswith("exactly")


def test_a_setting_may_hold_an_equals_sign_and_overrides_ours(tmp_path: Path) -> None:
    parsed, _ = _parsed("kafka-streams", tmp_path)
    parsed.setting.append("commit.interval.ms=7")
    made = kafka_streams.settings(parsed)
    assert (made["a.b"], made["commit.interval.ms"]) == ("c=d", "7")


@pytest.mark.parametrize("name", _PARSERS)
def test_another_option_is_refused(name: str) -> None:
    with pytest.raises(BadInput, match="does not take these options"):
        find(name).parsed({"guarantees": "x"})


def test_streams_raise_the_limit_only_if_they_are_told_to(tmp_path: Path) -> None:
    built_in = find("kafka-streams")
    for given, expected in (({}, None), ({"raised_limit": 9}, 9)):
        command = built_in.command(
            built_in.parsed(given), Places("b:1", "in", "out", tmp_path, "g", 0, "b:1"), ()
        )
        assert kafka_streams.parser().parse_args(command.arguments[3:]).raised_limit == expected
