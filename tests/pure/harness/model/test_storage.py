"""Paths and URLs side by side, masters and their settings, jars and their checksums, the shipped zip."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pyarrow as pa
import pyspark
import pytest

from checkers.engine.choice import EngineChoice, parse_settings
from checkers.engine.connect import write_zip
from checkers.engine.spark_server import cluster_settings, hadoop_s3_settings, python_executable
from harness.check_jobs import recheck, spark_jars
from harness.check_jobs.spark_jars import ALL, KAFKA, S3, jars_of, wrong_files
from harness.model.errors import BadInput, JournalError, PrerequisiteMissing
from harness.model.host import fetched
from harness.model.storage import (
    matching,
    open_parquet,
    s3_settings,
    scratch_in,
    spark_path,
    storage_path,
    write_parquet,
    write_whole,
)

pytestmark = pytest.mark.pure

JARS = Path(pyspark.__file__).parent / "jars"


def test_paths_stay_paths(tmp_path: Path) -> None:
    assert storage_path("results/run") == Path("results/run")
    assert storage_path("file:///a%20b/c") == Path("/a b/c")
    assert storage_path("odd:name/x") == Path("odd:name/x")
    write_whole(tmp_path / "b", "2")
    write_whole(tmp_path / "a", "1")
    write_whole(tmp_path / "a", "3")
    assert [(path.name, path.read_text()) for path in matching(tmp_path, "*")] == [("a", "3"), ("b", "2")]


def test_scratch_is_gone_afterwards_and_new_each_time(tmp_path: Path) -> None:
    with scratch_in(tmp_path) as first, scratch_in(tmp_path) as second:
        assert first != second
        write_parquet(pa.table({"a": [1]}), str(first / "x.parquet"))
        with open_parquet(str(first / "x.parquet")) as file:
            assert file.read().to_pydict() == {"a": [1]}
    assert list(tmp_path.iterdir()) == []


def test_scratch_that_a_task_makes_again_after_an_error_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = scratch_in(tmp_path)
    folder = scratch.__enter__()
    late = iter([Path(str(folder)) / "facts"])

    def pause(_: float) -> None:
        """A task of an engine writes while it is waited for the first time."""
        for table in late:
            table.mkdir(parents=True)
            (table / "part.parquet").write_bytes(b"PAR1")

    monkeypatch.setattr("harness.model.storage.time.sleep", pause)
    assert not scratch.__exit__(ValueError, ValueError("the query failed"), None)
    assert next(late, None) is None
    assert list(tmp_path.iterdir()) == []


def test_a_text_that_cannot_be_written_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "summary.json"
    write_whole(target, "before")

    def full(path: Path, data: bytes) -> None:
        with path.open("wb") as file:
            file.write(data[:2])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space left"):
        write_whole(target, "after")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"summary.json": "before"}


def test_a_scheme_that_nothing_opens_is_told() -> None:
    with pytest.raises(JournalError, match="opens this URL"):
        storage_path("nosuch://host/run")


@pytest.mark.parametrize("url", ["s3://b/run", "s3n://b/run", "s3a://b/run"])
def test_spark_is_given_hadoops_name_of_the_store(url: str) -> None:
    assert spark_path(storage_path(url)) == "s3a://b/run"
    assert spark_path(Path("/s3/b")) == "/s3/b"


def test_s3_goes_by_the_environment() -> None:
    given = {"AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_DEFAULT_REGION": "r", "AWS_ACCESS_KEY_ID": ""}
    assert s3_settings(given) == {"endpoint_override": "http://127.0.0.1:9", "region": "r"}
    assert hadoop_s3_settings(given) == {
        "spark.hadoop.fs.s3a.endpoint": "http://127.0.0.1:9",
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.hadoop.fs.s3a.connection.ssl.enabled": "false",
        "spark.hadoop.fs.s3a.endpoint.region": "r",
    }
    assert hadoop_s3_settings({}) == {}


@pytest.mark.parametrize(
    ("master", "here"),
    [
        ("local", True),
        ("local[*]", True),
        ("local[2,3]", True),
        ("spark://127.0.0.1:7077", True),
        ("spark://a:7077,b:7077", False),
        ("yarn", False),
        ("sc://localhost:15002", True),
        ("k8s://https://10.0.0.1:443", False),
    ],
)
def test_masters(master: str, here: bool) -> None:
    chosen = EngineChoice(master=master).checked()
    assert chosen.on_this_machine is here
    settings = cluster_settings(chosen, {"AWS_SECRET_ACCESS_KEY": "s"})
    assert settings["spark.executorEnv.AWS_SECRET_ACCESS_KEY"] == "s"
    assert ("spark.driver.host" in settings) is here
    assert re.search(settings["spark.redaction.regex"], "spark.executorEnv.AWS_ACCESS_KEY_ID")
    assert re.search(settings["spark.redaction.regex"], "spark.executorEnv.AWS_SECRET_ACCESS_KEY")
    assert python_executable(chosen, {}) == (sys.executable if here else "python3")
    assert here or python_executable(chosen, {"PYSPARK_PYTHON": "p"}) == "p"


@pytest.mark.parametrize("master", ["lokal[2]", "localhost:7077", "mesos://a:1", ""])
def test_no_such_master(master: str) -> None:
    with pytest.raises(BadInput, match="no Spark master"):
        EngineChoice(master=master).checked()


def test_settings_of_spark() -> None:
    assert parse_settings(["spark.a=b=c", "spark.d="]) == {"spark.a": "b=c", "spark.d": ""}
    for wrong_one in ("spark.a", "a=b"):
        with pytest.raises(BadInput, match="not a setting"):
            parse_settings([wrong_one])


def options_of(**changes: object) -> recheck.CheckOptions:
    given = {
        "master": "local[*]",
        "settings": [],
        "driver_memory": "1g",
        "results": None,
        "bootstrap": None,
        "from_topic": False,
    }
    return recheck.check_options(changes.pop("folder", Path("run")), **(given | changes))  # type: ignore[arg-type]


def test_jars_come_only_with_what_needs_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KAFKA_CHAOS_ENGINE", raising=False)
    monkeypatch.setattr(recheck, "jars_of", lambda jar_set: (Path(jar_set.name),))
    assert options_of().engine.jars == ()
    assert options_of(folder=storage_path("s3://b/run")).engine.jars == (Path("s3"),)
    assert options_of(results="s3a://b/run").engine.jars == (Path("s3"),)
    assert options_of(from_topic=True, bootstrap="h:1").engine.jars == (Path("kafka"),)
    assert options_of(folder=storage_path("s3://b/run"), master="sc://h").engine.jars == ()


@pytest.mark.parametrize(
    "changes",
    [{"from_topic": True, "bootstrap": "h:1"}, {"settings": ["spark.a=b"]}],
)
def test_sail_is_refused_where_only_spark_can(changes: dict[str, object]) -> None:
    for possible in ({}, {"folder": storage_path("s3://b/run")}):
        assert options_of(engine="sail", **possible).engine == EngineChoice("sail", driver_memory="1g")
    with pytest.raises(BadInput) as caught:
        options_of(engine="sail", **changes)
    assert caught.value.where == "--engine sail"


def test_the_rows_are_counted_for_spark_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KAFKA_CHAOS_ENGINE", raising=False)
    monkeypatch.setattr(recheck, "rows_in", lambda _: None)
    assert options_of(engine="spark").engine.optimised
    assert options_of(settings=["spark.a=b"]).engine.optimised
    assert not options_of().engine.optimised


@pytest.mark.parametrize("changes", [{"from_topic": True}, {"bootstrap": "h:1"}])
def test_a_topic_needs_brokers_and_brokers_a_topic(changes: dict[str, object]) -> None:
    with pytest.raises(BadInput, match="need each other"):
        options_of(**changes)


def test_the_jars_fit_the_hadoop_and_scala_of_pyspark() -> None:
    (client,) = JARS.glob("hadoop-client-api-*.jar")
    version = client.stem.removeprefix("hadoop-client-api-")
    assert f"hadoop-aws-{version}.jar" in S3.sums()
    (scala,) = JARS.glob("scala-library-*.jar")
    binary = ".".join(scala.stem.removeprefix("scala-library-").split(".")[:2])
    assert any(name.startswith(f"spark-sql-kafka-0-10_{binary}-") for name in KAFKA.sums())
    for jar_set in ALL:
        # What PySpark brings is not brought twice, whatever its version.
        brought = {re.sub(r"-\d.*", "", path.name) for path in JARS.iterdir()}
        assert not {re.sub(r"-\d.*", "", name) for name in jar_set.sums()} & brought
        assert all(re.fullmatch(r"[0-9a-f]{64}", digest) for digest in jar_set.sums().values())


def test_only_jars_with_the_right_checksum_are_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(fetched.CACHE_VARIABLE, str(tmp_path / "jars"))
    monkeypatch.setattr(spark_jars, "require_commands", lambda *_: None)
    content = {name: name.encode() for name in KAFKA.sums()}
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in content.items()}
    calls: list[Path] = []

    def fetch(_: object, target: Path) -> None:
        calls.append(target)
        target.mkdir()
        for name, data in content.items():
            (target / name).write_bytes(data)

    monkeypatch.setattr(spark_jars, "_fetch", fetch)
    with pytest.raises(PrerequisiteMissing, match="not those that were tested"):
        jars_of(KAFKA)
    assert not [path for path in (tmp_path / "jars").iterdir() if not path.name.startswith(".")]
    monkeypatch.setattr(spark_jars.JarSet, "sums", lambda _: sums)
    first = jars_of(KAFKA)
    assert jars_of(KAFKA) == first
    assert len(calls) == 2
    first[0].write_bytes(b"spoilt")
    assert wrong_files(first[0].parent, sums) == [first[0].name]
    assert jars_of(KAFKA)[0].read_bytes() == content[first[0].name]
    assert len(calls) == 3


@pytest.mark.soak  # a process that imports Spark from a zip
def test_the_zip_is_all_that_a_task_imports(tmp_path: Path) -> None:
    archive = write_zip(tmp_path / "a.zip")
    assert archive.read_bytes() == write_zip(tmp_path / "b.zip").read_bytes()
    names = zipfile.ZipFile(archive).namelist()
    assert "harness/cli/app.py" not in names
    # Nothing of the checkout is on the path of this interpreter: -P and another folder.
    modules = [
        name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        for name in names
        if name.startswith("checkers/") and "__main__" not in name
    ]
    code = f"import sys; sys.path.insert(0, {str(archive)!r})\nfor name in {modules!r}: __import__(name)"
    code += "\nimport checkers; assert '.zip' in checkers.__file__, checkers.__file__"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
