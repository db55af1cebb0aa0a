"""Which engine is chosen, by what is said, by the size of the run, and by the memory that is free."""

from __future__ import annotations

from pathlib import Path

import pytest

from checkers.engine.choice import (
    ENGINE_VARIABLE,
    JVM_MARGIN,
    OPTIMISED_ROWS,
    SAIL_ROWS,
    EngineChoice,
    available_memory,
    decide,
    heap_bytes,
    usual_engine,
)
from checkers.engine.connect import public_url
from checkers.engine.spark_server import Java, cores, server_command, server_settings
from harness.model.errors import BadInput

pytestmark = pytest.mark.pure

PLENTY = 64 * 2**30


@pytest.mark.parametrize(
    ("choice", "variable", "usual", "engine"),
    [
        (EngineChoice(), "", "sail", "sail"),
        (EngineChoice(), "", "spark", "spark"),
        (EngineChoice(), "auto", "spark", "spark"),
        (EngineChoice(), "sail", "spark", "sail"),
        (EngineChoice(), "spark", "sail", "spark"),
        (EngineChoice("spark"), "sail", "sail", "spark"),
        (EngineChoice("sail"), "spark", "spark", "sail"),
        (EngineChoice(master="local[2]"), "sail", "sail", "spark"),
        (EngineChoice(settings={"spark.a": "b"}), "sail", "sail", "spark"),
        (EngineChoice(jars=(Path("x.jar"),)), "sail", "sail", "spark"),
        (EngineChoice(master="sc://host:1"), "", "sail", "spark"),
        # The heap alone asks for nothing: it has a default.
        (EngineChoice(driver_memory="1g"), "", "sail", "sail"),
    ],
)
def test_what_is_said_goes_before_the_variable_and_this_before_the_usual(
    choice: EngineChoice, variable: str, usual: str, engine: str
) -> None:
    decision = decide(choice, usual, {ENGINE_VARIABLE: variable}, PLENTY)  # type: ignore[arg-type]
    assert (decision.engine, decision.choice.engine, decision.reason) == (engine, engine, "")
    assert decision.choice.settings == choice.settings


@pytest.mark.parametrize(
    ("choice", "free", "engine"),
    [
        (EngineChoice(), 4 * 2**30 + JVM_MARGIN, "spark"),
        (EngineChoice(), 4 * 2**30 + JVM_MARGIN - 1, "sail"),
        (EngineChoice(driver_memory="1g"), 2 * 2**30, "spark"),
        (EngineChoice(), None, "spark"),
        (EngineChoice("spark"), 1, "spark"),
        (EngineChoice(master="local[2]"), 1, "spark"),
    ],
)
def test_a_usual_spark_without_memory_for_a_jvm_is_replaced_and_this_is_told(
    choice: EngineChoice, free: int | None, engine: str
) -> None:
    decision = decide(choice, "spark", {}, free)
    assert decision.engine == engine
    assert ("GiB are free" in decision.reason) == (engine == "sail")


def test_the_usual_engine_goes_by_the_rows() -> None:
    assert [usual_engine(rows) for rows in (0, SAIL_ROWS, SAIL_ROWS + 1, None)] == [
        "sail",
        "sail",
        "spark",
        "spark",
    ]


@pytest.mark.parametrize(
    ("choice", "what"),
    [
        (EngineChoice("sail", master="local[2]"), "Sail has no master"),
        (EngineChoice("sail", settings={"spark.a": "b"}), "Sail has no master"),
        (EngineChoice("flink"), "there is no such engine"),  # type: ignore[arg-type]
        (EngineChoice(driver_memory="lots"), "no size of a heap"),
        (EngineChoice("sail", driver_memory="4gb"), "no size of a heap"),
        (EngineChoice(master="mesos://a"), "no Spark master"),
        (EngineChoice(master="sc://a", jars=(Path("x.jar"),)), "brings its own jars"),
    ],
)
def test_contradictions(choice: EngineChoice, what: str) -> None:
    with pytest.raises(BadInput, match=what) as caught:
        decide(choice, "spark", {}, PLENTY)
    assert caught.value.exit_code == 2


def test_a_variable_that_names_no_engine_is_refused() -> None:
    with pytest.raises(BadInput, match="no such engine") as caught:
        decide(EngineChoice(), "spark", {ENGINE_VARIABLE: "comet"}, PLENTY)
    assert (caught.value.where, caught.value.found) == (ENGINE_VARIABLE, "comet")


@pytest.mark.parametrize(
    ("text", "size"), [("4g", 4 * 2**30), ("512m", 2**29), ("1024K", 2**20), ("2147483648", 2**31)]
)
def test_sizes_as_java_takes_them(text: str, size: int) -> None:
    assert heap_bytes(text) == size


def test_free_memory_as_linux_tells_it(tmp_path: Path) -> None:
    meminfo = tmp_path / "meminfo"
    assert available_memory(meminfo) is None
    meminfo.write_text("MemTotal:  100 kB\nMemAvailable:     42 kB\n")
    assert available_memory(meminfo) == 42 * 1024
    meminfo.write_text("MemTotal:  100 kB\n")
    assert available_memory(meminfo) is None


def test_a_server_of_ours_listens_here_only_and_the_user_has_the_last_word(tmp_path: Path) -> None:
    settings = server_settings(EngineChoice("spark", "local[3]", settings={"spark.a": "b"}), tmp_path, {})
    assert settings["spark.connect.grpc.binding.address"] == "127.0.0.1"
    assert settings["spark.driver.bindAddress"] == "127.0.0.1"
    assert settings["spark.sql.shuffle.partitions"] == "3"
    assert settings["spark.sql.session.timeZone"] == "UTC"
    assert settings["spark.ui.enabled"] == "false"
    assert settings["spark.a"] == "b"
    own = EngineChoice("spark", "local[3]", settings={"spark.sql.shuffle.partitions": "7"})
    assert server_settings(own, tmp_path, {})["spark.sql.shuffle.partitions"] == "7"
    jars = EngineChoice("spark", "spark://a:1", jars=(Path("/x.jar"), Path("/y.jar")))
    assert server_settings(jars, tmp_path, {})["spark.jars"] == "/x.jar,/y.jar"
    assert [cores(master) for master in ("local", "local[5]", "local[2,3]")] == [1, 5, 2]


def test_the_optimising_compiler_is_for_large_runs() -> None:
    java = Java(17, "", "", "java")

    def compiler(rows: int | None) -> list[str]:
        choice = EngineChoice("spark").for_rows(rows)
        return [word for word in server_command(java, choice, {}, Path("/log4j")) if "Tier" in word]

    assert compiler(OPTIMISED_ROWS - 1) == ["-XX:TieredStopAtLevel=1"]
    assert compiler(OPTIMISED_ROWS) == compiler(None)
    assert "-XX:Tier4BackEdgeThreshold=400000" in compiler(None)
    assert EngineChoice("spark").for_rows(None).key != EngineChoice("spark").key


def test_what_the_jvm_unpacks_goes_with_the_engines_folder() -> None:
    command = server_command(Java(17, "", "", "java"), EngineChoice("spark"), {}, Path("/scratch/log4j"))
    assert "-Djava.io.tmpdir=/scratch" in command


def test_a_token_in_a_url_is_not_shown() -> None:
    assert public_url("sc://host:1/;token=secret;use_ssl=true") == "sc://host:1"
    assert public_url("sc://host") == "sc://host"
