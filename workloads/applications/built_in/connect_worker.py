"""A distributed worker of Kafka Connect with one connector.

`mirror` mirrors the input to the output topic, `file-source` sends the lines of the file that is the input,
`file-sink` writes the values of the input as lines of Base64 to a file of the folder of the output.
"""

from __future__ import annotations

import argparse
import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from workloads.applications.built_in.connect_settings import (
    EXACTLY_ONCE,
    FILE_SINK,
    FILE_SOURCE,
    Clusters,
    connector_settings,
    worker_settings,
)
from workloads.applications.built_in.jvm import LOG_TO_STDERR, java_map, start_jvm, watch_tasks
from workloads.applications.built_in.lifecycle import say, stop_event

_REQUEST_SECONDS = 60.0
_CONNECTOR = "subject"


def main(options: argparse.Namespace) -> int:
    stopping = stop_event()
    # Its sink has no guarantee to choose.
    once = "guarantee" in options and options.guarantee == EXACTLY_ONCE
    clusters = Clusters.of(options.bootstrap, options.output_bootstrap)
    output = options.output
    if options.variant == FILE_SINK:
        Path(options.output).mkdir(parents=True, exist_ok=True)
        output = str(Path(options.output) / "lines.txt")
    connector = connector_settings(
        options.variant,
        clusters=clusters,
        topic=options.input,
        output=output,
        group=options.group,
        exactly_once=once,
        batch_size=options.batch_size if options.variant == FILE_SOURCE else 1,
    )
    worker = worker_settings(
        clusters=clusters, group=options.group, exactly_once=once, commit_ms=options.commit_interval_ms
    )
    gateway = start_jvm(options.jars, ("-Xmx384m", *LOG_TO_STDERR))
    cli = gateway.jvm.org.apache.kafka.connect.cli.ConnectDistributed(
        gateway.new_array(gateway.jvm.String, 0)
    )
    connect = cli.startConnect(java_map(gateway, {**worker, **options.settings}))
    url = connect.rest().advertisedUrl().toString().rstrip("/")
    _configure(url, connector)
    return watch_tasks(gateway, lambda: _states(url), connect.stop, stopping)


def _configure(url: str, settings: dict[str, str]) -> None:
    """Create the connector, unless the worker has it with these settings from before it was killed."""
    path = f"{url}/connectors/{_CONNECTOR}/config"
    present = _request(path)
    if present is None or {name: value for name, value in present.items() if name != "name"} != settings:
        _request(path, settings)


def _states(url: str) -> list[str]:
    """The states of the connector's tasks."""
    status = _request(f"{url}/connectors/{_CONNECTOR}/status")
    return [] if status is None else [task["state"] for task in status["tasks"]]


def _request(url: str, content: dict[str, str] | None = None) -> Any:
    """The answer of the worker to GET, or to PUT with a content; None: what is asked for does not exist yet.

    Raises:
        SystemExit: it refuses the content.
    """
    data = None if content is None else json.dumps(content).encode()
    request = urllib.request.Request(
        url, data, {"Content-Type": "application/json"}, method="GET" if data is None else "PUT"
    )
    try:
        with urllib.request.urlopen(request, timeout=_REQUEST_SECONDS) as answer:
            return json.load(answer)
    except TimeoutError:
        # It is still reading its topics, for example up to the end of a killed worker's transaction.
        return _request(url, content)
    except urllib.error.HTTPError as error:
        if data is None:
            return None
        say(f"the worker refuses the connector: {error.read().decode(errors='replace')[:500]}")
        raise SystemExit(3) from error
