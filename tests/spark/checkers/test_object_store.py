"""Runs on an S3 store: checked from their URL, answers written to it, the same as on disk."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyarrow import fs
from pyspark.sql import SparkSession

from checkers.check import check_run
from harness.model.storage import (
    UrlPath,
    matching,
    open_parquet,
    scratch_in,
    storage_path,
    write_parquet,
    write_whole,
)
from tests.support.builders.every_finding import run_with_findings, without_engine
from tests.support.history import findings_of
from tests.support.object_store import BUCKET, object_store, system, upload
from tests.support.paths import ROOT
from tests.support.standalone_spark import environment

pytestmark = pytest.mark.spark
pytest.importorskip("moto.server", reason="needs the extra 'dev'")


@pytest.fixture(scope="module")
def store() -> Iterator[dict[str, str]]:
    with object_store() as variables:
        yield variables


@pytest.fixture
def aims(store: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in store.items():
        monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("aims")
def test_a_url_is_used_as_a_path_is(store: dict[str, str], tmp_path: Path) -> None:
    local = run_with_findings(tmp_path / "run")
    folder = storage_path(upload(local, "exp/run", store) + "/")
    assert isinstance(folder, UrlPath)
    assert (str(folder), folder.name, str(folder.parent)) == (
        f"s3a://{BUCKET}/exp/run",
        "run",
        f"s3a://{BUCKET}/exp",
    )
    assert folder.is_dir()
    assert (folder / "run.json").exists()
    assert not (folder / "summary.json").exists()
    assert not (folder / "run.json").is_dir()
    assert (folder / "run.json").read_text() == (local / "run.json").read_text()
    assert [str(path).removeprefix(str(folder)) for path in matching(folder / "sends", "part-*")] == [
        f"/sends/part-0000{number}.parquet" for number in range(3)
    ]
    assert [path.parent.name for path in matching(folder.parent, "*/run.json")] == ["run"]
    assert matching(folder / "nothing", "*") == []
    part = matching(folder / "sends", "part-*")[0]
    with open_parquet(part) as file:
        assert file.read().equals(pq.read_table(local / "sends" / part.name))
    with scratch_in(folder) as scratch:
        write_parquet(pq.read_table(local / "sends"), str(scratch / "part.parquet"))
        with open_parquet(str(scratch / "part.parquet")) as file:
            assert file.metadata.num_rows == 4
        assert scratch.name.startswith(".")
    assert not scratch.exists()
    assert sorted(path.name for path in matching(folder, "*")) == ["reads", "replicas", "run.json", "sends"]
    write_whole(folder / "note", "x")
    (folder / "note").unlink()
    (folder / "note").unlink(missing_ok=True)
    assert not (folder / "note").exists()


@pytest.mark.soak
@pytest.mark.parametrize(
    "engine", [["--engine", "sail"], ["--spark-master", "local[1]", "--driver-memory", "1g"]]
)
def test_a_run_on_a_store_is_checked_there(
    engine: list[str], store: dict[str, str], spark: SparkSession, tmp_path: Path
) -> None:
    local = run_with_findings(tmp_path / "run")
    name = f"checked-{engine[1]}/run"
    url = upload(local, name, store)
    expected = without_engine(json.loads(check_run(spark, local).model_dump_json()))
    done = subprocess.run(
        [
            *(sys.executable, "-m", "kafka_chaos", "check", url, "--json", "--quiet"),
            *engine,
        ],
        capture_output=True,
        text=True,
        env=environment() | store | {"PYTHONPATH": str(ROOT)},
        timeout=900,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    answer = json.loads(done.stdout)["arms"][0]
    assert answer["summary"] is not None, answer["meta"]["problems"]
    assert without_engine(answer["summary"]) == expected
    assert answer["summary"]["engine"].startswith("Sail " if "sail" in engine else "Apache Spark ")
    there = f"{BUCKET}/{name}"
    with system(store).open_input_file(f"{there}/summary.json") as file:
        assert without_engine(json.loads(file.read())) == expected
    files = system(store).get_file_info(fs.FileSelector(f"{there}/findings"))
    assert [file.base_name for file in files if not file.base_name.endswith(".parquet")] == []
    rows = pq.read_table(f"{there}/findings", filesystem=system(store)).to_pylist()
    key = ("finding", "producer", "seq", "offsets")
    assert sorted(rows, key=lambda row: str([row[name] for name in key])) == sorted(
        findings_of(local), key=lambda row: str([row[name] for name in key])
    )
