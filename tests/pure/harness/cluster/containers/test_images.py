from __future__ import annotations

import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from docker.errors import ImageNotFound

import compose
from harness.cluster.containers import image_build, images
from harness.model.defaults import DEFAULT_VERSION
from harness.model.errors import BadInput, PrerequisiteMissing
from harness.model.host import fetched

pytestmark = pytest.mark.pure

VERSION = DEFAULT_VERSION
OFFICIAL = f"apache/kafka:{VERSION}"
OWN = f"kafka-chaos/kafka:{VERSION}"


class FakeEngine:
    """An engine with some images, a registry with others, and a note of what was done."""

    def __init__(self, local: dict[str, dict[str, str]], registry: tuple[str, ...] = ()) -> None:
        self.local = local
        self.registry = registry
        self.done: list[str] = []
        self.images = SimpleNamespace(get=self.get)

    def get(self, reference: str) -> Any:
        if reference not in self.local:
            raise ImageNotFound(reference)
        return SimpleNamespace(id=f"sha256:{reference}", labels=self.local[reference], attrs={})

    def pull(self, _client: Any, reference: str) -> str | None:
        self.done.append(f"pull {reference}")
        if reference not in self.registry:
            return "no registry"
        self.local[reference] = {}
        return None

    def build_kafka(self, _client: Any, version: str, reference: str) -> None:
        self.done.append(f"build {reference}")
        self.local[reference] = fresh(version)

    def build_base(self, _client: Any) -> str:
        self.done.append("build base")
        self.local[image_build.base_reference()] = {}
        return image_build.base_reference()

    def build_toolbox(self, _client: Any, reference: str, base: str, network: str) -> None:
        self.done.append(f"build {reference} on {base.split(':')[0]} network {network}")
        self.local[reference] = {image_build.FINGERPRINT_LABEL: image_build.toolbox_fingerprint()}


def fresh(version: str) -> dict[str, str]:
    return {image_build.FINGERPRINT_LABEL: image_build.kafka_fingerprint(version)}


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(image_build.tempfile, "gettempdir", lambda: str(tmp_path))

    def engine(local: dict[str, dict[str, str]], registry: tuple[str, ...] = ()) -> Any:
        fake = FakeEngine(local, registry)
        monkeypatch.setattr(images, "pull", fake.pull)
        monkeypatch.setattr(image_build, "build_kafka", fake.build_kafka)
        monkeypatch.setattr(image_build, "build_toolbox", fake.build_toolbox)
        monkeypatch.setattr(image_build, "build_base", fake.build_base)
        return fake

    return engine


def test_a_named_image_that_is_local_is_used(given: Any) -> None:
    client = given({"mine/kafka:4.1.0": {}})
    info = images.resolve(client, image="mine/kafka:4.1.0")
    assert (info.reference, info.origin, info.kafka_version) == ("mine/kafka:4.1.0", "local", "4.1.0")
    assert client.done == []


def test_a_named_image_is_pulled_before_anything_else(given: Any) -> None:
    client = given({OFFICIAL: {}}, ("mine/kafka:dev",))
    info = images.resolve(client, image="mine/kafka:dev")
    assert (info.origin, info.kafka_version) == ("pulled", "unknown")


def test_a_named_image_that_is_nowhere_is_an_error_and_not_replaced(given: Any) -> None:
    client = given({OFFICIAL: {}})
    with pytest.raises(PrerequisiteMissing, match=r"mine/kafka:9 is not available") as caught:
        images.resolve(client, image="mine/kafka:9")
    assert "no registry" in str(caught.value)
    assert caught.value.next_step


def test_the_official_image_goes_before_our_own(given: Any) -> None:
    client = given({OFFICIAL: {}, OWN: fresh(VERSION)})
    assert images.resolve(client).reference == OFFICIAL
    assert client.done == []


def test_our_own_image_is_used_at_once_without_asking_a_registry(given: Any) -> None:
    client = given({OWN: fresh(VERSION)}, (OFFICIAL,))
    info = images.resolve(client)
    assert (info.reference, info.origin) == (OWN, "local")
    assert client.done == []


def test_pulled_where_it_can_be(given: Any) -> None:
    client = given({}, (OFFICIAL,))
    assert images.resolve(client).origin == "pulled"
    assert client.done == [f"pull {OFFICIAL}"]


def test_built_where_no_registry_answers_and_once_only(given: Any) -> None:
    client = given({})
    assert images.resolve(client).origin == "built"
    assert images.resolve(client).origin == "local"
    assert client.done == [f"pull {OFFICIAL}", f"build {OWN}"]


def test_our_own_image_of_an_older_context_is_made_again(given: Any) -> None:
    client = given({OWN: {image_build.FINGERPRINT_LABEL: "0" * 16}})
    assert images.resolve(client).origin == "built"


def test_when_nothing_works_the_error_names_each_way(given: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    client = given({})

    def fails(*_arguments: Any) -> None:
        raise PrerequisiteMissing("building needs mvn", found="no mvn on PATH", next_step="install maven")

    monkeypatch.setattr(image_build, "build_kafka", fails)
    with pytest.raises(PrerequisiteMissing, match=f"no image of Kafka {VERSION}") as caught:
        images.resolve(client)
    for part in (OFFICIAL, OWN, "no registry", "no mvn on PATH", "install maven"):
        assert part in str(caught.value)


def test_a_version_that_is_none_is_bad_input(given: Any) -> None:
    with pytest.raises(BadInput):
        images.resolve(given({}), version="latest")


def test_digest_of_the_registry_goes_before_the_local_id() -> None:
    image = SimpleNamespace(id="sha256:1", labels={}, attrs={"RepoDigests": ["apache/kafka@sha256:2"]})
    fake = SimpleNamespace(images=SimpleNamespace(get=lambda _reference: image))
    assert images.resolve(fake).digest == "apache/kafka@sha256:2"


def test_toolbox_is_built_on_our_base_if_that_is_here(given: Any) -> None:
    client = given({image_build.base_reference(): {}}, (images.TOOLBOX_BASE,))
    assert images.toolbox(client) == images.TOOLBOX
    assert client.done == ["build base", "build kafka-chaos/toolbox:1 on kafka-chaos/base network none"]
    assert images.toolbox(client) == images.TOOLBOX
    assert len(client.done) == 2


def test_toolbox_is_built_on_a_pulled_debian_else(given: Any) -> None:
    client = given({}, (images.TOOLBOX_BASE,))
    images.toolbox(client)
    assert client.done[-1] == "build kafka-chaos/toolbox:1 on debian network default"


def test_toolbox_without_a_registry_makes_its_base(given: Any) -> None:
    client = given({})
    images.toolbox(client)
    assert client.done[1:] == ["build base", "build kafka-chaos/toolbox:1 on kafka-chaos/base network none"]


def test_fingerprint_follows_names_bytes_and_extras(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1")
    first = image_build.fingerprint([tmp_path], "4.3.1")
    assert image_build.fingerprint([tmp_path], "4.3.1") == first
    assert image_build.fingerprint([tmp_path], "4.3.2") != first
    (tmp_path / "a").write_text("2")
    second = image_build.fingerprint([tmp_path], "4.3.1")
    (tmp_path / "a").rename(tmp_path / "b")
    assert len({first, second, image_build.fingerprint([tmp_path], "4.3.1")}) == 3


def test_a_missing_tool_is_named_with_its_package_as_setup_reads_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(fetched.shutil, "which", lambda _command: None)
    with pytest.raises(PrerequisiteMissing, match="needs mmdebstrap and mvn") as caught:
        fetched.require_commands({"mvn": "maven", "mmdebstrap": "mmdebstrap"}, "building")
    (tmp_path / "images.err").write_text(f"{caught.value}\n")
    setup = (Path(compose.__file__).parent / "setup.sh").read_text()
    (line,) = (line for line in setup.splitlines() if line.strip().startswith("missing=$(sed"))
    run = subprocess.run(
        ["bash", "-c", f'scratch=$1; {line}; echo "$missing"', "bash", str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout == "maven mmdebstrap\n"


def test_contexts_are_found_by_name() -> None:
    assert (compose.context("kafka") / "pom.xml").is_file()
    with pytest.raises(FileNotFoundError, match="nothing"):
        compose.context("nothing")


def test_a_version_of_which_the_repository_lacks_a_part_names_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    listed = (
        "could not be resolved: org.apache.kafka:kafka-tools:jar:4.9.9, org.apache.kafka:raft:jar:4.9.9: "
    )
    of = "project kafka-chaos:kafka-jars:pom:1: The following artifacts"
    said = (
        f"{of} {listed}org.apache.kafka:kafka-tools:jar:4.9.9 was not found in https://repo during a previous"
    )
    monkeypatch.setattr(image_build, "copy_dependencies", lambda *_: said)
    with pytest.raises(PrerequisiteMissing, match=r"does not have all of Kafka 4\.9\.9") as caught:
        image_build.fetch_jars("4.9.9", tmp_path)
    assert caught.value.found == "missing: kafka-tools 4.9.9, raft 4.9.9"
    offline = f"{of} {listed}Cannot access central in offline mode"
    monkeypatch.setattr(image_build, "copy_dependencies", lambda *_: offline)
    with pytest.raises(PrerequisiteMissing, match=r"could not resolve Kafka 4\.9\.9") as caught:
        image_build.fetch_jars("4.9.9", tmp_path)
    assert caught.value.found == offline


def test_of_maven_only_the_first_error_is_shown() -> None:
    told = "[ERROR] no such jar\n[ERROR]\n[ERROR] re-run with -X"
    assert fetched.first_error(told) == "no such jar"
    assert fetched.first_error("killed") == "killed"
