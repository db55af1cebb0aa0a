"""Our code gets to the workers of a session of either kind, from a checkout, an installation or a zip."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession

from checkers.engine.connect import send_code, write_zip

pytestmark = pytest.mark.pure


def modules(archive: str) -> set[str]:
    return {name for name in zipfile.ZipFile(archive).namelist() if name.startswith("checkers/")}


class Classic:
    """A classic session whose executors fetch the file later."""

    def __init__(self) -> None:
        self.sparkContext, self.added = self, list[str]()

    def addPyFile(self, path: str) -> None:
        self.added.append(path)


class Remote:
    """A session of Spark Connect, which takes what it is sent at once."""

    def __init__(self) -> None:
        self.sent = list[tuple[set[str], dict[str, Any]]]()

    def addArtifacts(self, *paths: str, **options: Any) -> None:
        self.sent += [(modules(path), options) for path in paths]


Remote.__module__ = "pyspark.sql.connect.session"


def test_executors_find_the_file_as_long_as_the_driver_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    session = Classic()
    send_code(cast("SparkSession", session))
    (path,) = session.added
    assert Path(path).name == "kafka-chaos.zip"
    assert "checkers/groups/rules.py" in modules(path)


def test_a_server_is_sent_the_file_itself() -> None:
    session = Remote()
    send_code(cast("SparkSession", session))
    ((names, options),) = session.sent
    assert "checkers/groups/rules.py" in names
    assert options == {"pyfile": True}


def test_a_driver_that_runs_from_the_zip_sends_that(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    given = write_zip(tmp_path / "given.zip")
    monkeypatch.setattr("checkers.engine.connect._ROOT", given)
    assert write_zip(tmp_path / "sent.zip").read_bytes() == given.read_bytes()
