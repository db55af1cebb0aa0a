"""Chaos as a normal pytest test: the fixtures `chaos` and `kafka_cluster`, and the marker `chaos`.

pytest loads this module in every project where kafka-chaos is installed. So it imports nothing heavy: Spark,
Docker and Kafka's client come in when a test asks for a fixture.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pytest

from harness.model.defaults import DEFAULT_VERSION
from harness.pytest_plugin.marks import MARK, marked_arms, marker_of, refuse_unused_marker
from harness.pytest_plugin.settings import WORKER_SEED, Settings, add_options, settings_of

if TYPE_CHECKING:
    from harness.cluster.managed import ManagedCluster
    from harness.pytest_plugin.cluster_pool import SessionClusters
    from harness.pytest_plugin.fixture import Chaos

_SETTINGS = pytest.StashKey[Settings]()
_CHAOS = pytest.StashKey["Chaos"]()
_FIXTURES = {"chaos", "kafka_cluster"}


def pytest_addoption(parser: pytest.Parser) -> None:
    add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARK)
    config.stash[_SETTINGS] = settings_of(config)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """pytest-xdist: every worker gets the seed that the header shows."""
    node.workerinput[WORKER_SEED] = node.config.stash[_SETTINGS].seed


def pytest_report_header(config: pytest.Config) -> str:
    settings = config.stash[_SETTINGS]
    where = settings.results
    shown = where.relative_to(config.rootpath) if where.is_relative_to(config.rootpath) else where
    image = settings.image or f"Kafka {settings.version or DEFAULT_VERSION}"
    replay = f", replay of {settings.replay}" if settings.replay is not None else ""
    return f"kafka-chaos: {image}, seed {settings.seed}, results in {shown}{replay}"


def pytest_report_collectionfinish(config: pytest.Config, items: Sequence[pytest.Item]) -> list[str]:
    """The image with its digest, where tests will use it: only then Docker may be asked."""
    if not any(_FIXTURES.intersection(getattr(item, "fixturenames", ())) for item in items):
        return []
    from harness.pytest_plugin.messages import image_line

    return [f"kafka-chaos: {image_line(config.stash[_SETTINGS])}"]


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    for item in items:
        refuse_unused_marker(item)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`chaos_arm` is each arm of the marker's experiment, or of those that it names."""
    if "chaos_arm" in metafunc.fixturenames:
        metafunc.parametrize("chaos_arm", marked_arms(metafunc.definition))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    chaos = item.stash.get(_CHAOS, None)
    if chaos is not None and report.failed and call.when != "teardown":
        if call.excinfo is not None:
            chaos.test_failed(call.excinfo.value)
        # The first section: it follows the failure, and not the lines of progress that pytest captured.
        report.sections.insert(0, ("kafka-chaos", chaos.failure_text()))
    return report


def _scope(fixture_name: str, config: pytest.Config) -> Any:  # noqa: ARG001 - pytest calls it by these names
    return config.stash[_SETTINGS].scope


@pytest.fixture(scope="session")
def kafka_cluster_spec() -> dict[str, Any]:
    """What `kafka_cluster` is to be: override it in a conftest.py. Keys are those below `cluster` of an
    experiment file, for instance `{"brokers": 3, "properties": {"min.insync.replicas": 2}}`."""
    return {}


@pytest.fixture(scope="session")
def _chaos_clusters(request: pytest.FixtureRequest) -> Iterator[SessionClusters]:
    from harness.pytest_plugin.cluster_pool import SessionClusters

    clusters = SessionClusters(request.config.stash[_SETTINGS])
    yield clusters
    clusters.close()


@pytest.fixture(scope=_scope)
def kafka_cluster(
    request: pytest.FixtureRequest, _chaos_clusters: SessionClusters, kafka_cluster_spec: dict[str, Any]
) -> Iterator[ManagedCluster]:
    """A running Kafka cluster: `kafka_cluster.bootstrap` is where clients connect.

    With the ini setting `chaos_reuse = yes` (the default) experiments of the fixture `chaos` that ask for an
    equal cluster run on the same one. How long it is held: `chaos_cluster_scope`.
    """
    from harness.pytest_plugin.cluster_pool import spec_of
    from harness.pytest_plugin.messages import readable

    settings = request.config.stash[_SETTINGS]
    with readable(settings.missing):
        cluster = _chaos_clusters.lease(spec_of(kafka_cluster_spec, settings))
    yield cluster
    _chaos_clusters.release(cluster)


@pytest.fixture
def chaos(request: pytest.FixtureRequest, _chaos_clusters: SessionClusters) -> Iterator[Chaos]:
    """Runs experiments: `chaos("kill-leader").assert_lost(0)`. See `harness.pytest_plugin.fixture.Chaos`."""
    from harness.model.progress import activities_only
    from harness.pytest_plugin.fixture import Chaos

    node = request.node
    settings = request.config.stash[_SETTINGS]
    instance = Chaos(settings, _chaos_clusters, marker_of(node), node.nodeid, node.path.parent)
    node.stash[_CHAOS] = instance
    with activities_only():
        yield instance
        for name, value in instance.properties():
            node.user_properties.append((name, value))
        instance.close()
