"""Images as files between the jobs of a CI system, against an engine that is only a table."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from docker.errors import APIError, ImageLoadError, ImageNotFound

from harness.cluster.containers import images
from harness.cluster.containers.kept_images import keep, load_kept
from harness.model.errors import BadInput, ClusterError
from harness.model.run import ImageInfo

pytestmark = pytest.mark.pure

ONE, TWO = "apache/kafka:4.4.0", "kafka-chaos/toolbox:1"


class TableEngine:
    """Images by reference, each a letter; `loaded` and `given` are what was asked for."""

    def __init__(self, local: dict[str, str]) -> None:
        self.local = local
        self.loaded: list[str] = []
        self.given: list[str] = []
        self.images = SimpleNamespace(get=self.get, load=self.load)
        self.api = SimpleNamespace(get_image=self.get_image)

    def get(self, reference: str) -> Any:
        if reference not in self.local:
            raise ImageNotFound(reference)
        return SimpleNamespace(id=f"sha256:{self.local[reference] * 64}")

    def get_image(self, reference: str, chunk_size: int) -> Any:
        assert chunk_size > 0
        self.given.append(reference)
        yield f"{reference} ".encode()
        if self.local[reference] == "x":
            raise APIError("broken off")
        yield self.local[reference].encode()

    def load(self, data: Any) -> None:
        text = data.read().decode()
        if " " not in text:
            raise ImageLoadError("unexpected EOF")
        self.loaded.append(text)
        reference, letter = text.split()
        self.local[reference] = letter


def engine(**local: str) -> Any:
    return TableEngine({{"one": ONE, "two": TWO}[name]: letter for name, letter in local.items()})


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def test_what_is_kept_is_loaded_by_the_next_job_and_not_written_again(tmp_path: Path) -> None:
    folder = tmp_path / "images"
    keep(engine(one="a"), folder, (ONE, TWO))
    assert names(folder) == ["apache+kafka+4.4.0@aaaaaaaaaaaa.tar"]
    following = engine()
    load_kept(following, folder, (ONE, TWO))
    assert following.local == {ONE: "a"}
    keep(following, folder, (ONE,))
    assert following.given == []


def test_what_is_here_is_not_loaded(tmp_path: Path) -> None:
    keep(engine(one="a"), tmp_path, (ONE,))
    here = engine(one="b")
    load_kept(here, tmp_path, (ONE,))
    assert here.loaded == []


def test_a_newer_image_takes_the_place_of_the_older_one_alone(tmp_path: Path) -> None:
    keep(engine(one="a", two="c"), tmp_path, (ONE, TWO))
    keep(engine(one="b"), tmp_path, (ONE,))
    assert names(tmp_path) == [
        "apache+kafka+4.4.0@bbbbbbbbbbbb.tar",
        "kafka-chaos+toolbox+1@cccccccccccc.tar",
    ]


def test_a_file_that_the_engine_refuses_is_removed(tmp_path: Path) -> None:
    keep(engine(one="a", two="c"), tmp_path, (ONE, TWO))
    (tmp_path / "apache+kafka+4.4.0@aaaaaaaaaaaa.tar").write_text("half")
    following = engine()
    load_kept(following, tmp_path, (ONE, TWO))
    assert following.local == {TWO: "c"}
    assert names(tmp_path) == ["kafka-chaos+toolbox+1@cccccccccccc.tar"]


def test_an_image_that_is_broken_off_leaves_no_file_and_the_older_one(tmp_path: Path) -> None:
    keep(engine(one="a"), tmp_path, (ONE,))
    with pytest.raises(ClusterError, match="does not give an image"):
        keep(engine(one="x"), tmp_path, (ONE,))
    assert names(tmp_path) == ["apache+kafka+4.4.0@aaaaaaaaaaaa.tar"]


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BadInput) as caught:
        keep(engine(one="a"), tmp_path / "file" / "images", (ONE,))
    assert str(tmp_path / "file") in str(caught.value.where)


@pytest.mark.parametrize("kept", [True, False])
def test_the_command_keeps_the_images_that_a_run_needs(
    kept: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, Any]] = []
    info = ImageInfo(reference=ONE, digest="d", origin="local", kafka_version="4.4.0")
    monkeypatch.setattr(images, "connect", lambda: "client")
    monkeypatch.setattr(images, "resolve", lambda *_: asked.append(("resolve", ())) or info)
    monkeypatch.setattr(images, "toolbox", lambda _: TWO)
    monkeypatch.setattr(images, "ryuk_available", lambda _: True)
    monkeypatch.setattr(images, "load_kept", lambda *given: asked.append(("load", given[1:])))
    monkeypatch.setattr(images, "keep", lambda *given: asked.append(("keep", given[1:])))
    images.prepare("4.4.0", kept=tmp_path if kept else None)
    reaper = images.testcontainers_config.ryuk_image
    wanted = [
        ("load", (tmp_path, (ONE, "kafka-chaos/kafka:4.4.0", TWO, reaper))),
        ("resolve", ()),
        ("keep", (tmp_path, (ONE, TWO, reaper))),
    ]
    assert asked == (wanted if kept else [("resolve", ())])
