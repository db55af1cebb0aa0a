"""Mirrors a topic with MirrorMaker 2 in its dedicated mode, to another cluster or to the same one.

The records go to the output topic, each to the partition that it has in the input.
"""

from __future__ import annotations

import argparse

from workloads.applications.built_in.connect_settings import (
    EXACTLY_ONCE,
    Clusters,
    aliases,
    mirrormaker_settings,
)
from workloads.applications.built_in.jvm import LOG_TO_STDERR, java_map, start_jvm, task_states, watch_tasks
from workloads.applications.built_in.lifecycle import stop_event

_CONNECTOR = "MirrorSourceConnector"


def main(options: argparse.Namespace) -> int:
    stopping = stop_event()
    settings = mirrormaker_settings(
        clusters=Clusters.of(options.bootstrap, options.output_bootstrap),
        topic=options.input,
        output=options.output,
        exactly_once=options.guarantee == EXACTLY_ONCE,
        commit_ms=options.commit_interval_ms,
    )
    gateway = start_jvm(options.jars, ("-Xmx384m", *LOG_TO_STDERR))
    mirror = gateway.jvm.org.apache.kafka.connect.mirror
    maker = mirror.MirrorMaker(java_map(gateway, {**settings, **options.settings}))
    maker.start()
    flow = mirror.SourceAndTarget(*aliases(options.input))
    return watch_tasks(gateway, lambda: task_states(maker, flow, _CONNECTOR), maker.stop, stopping)
