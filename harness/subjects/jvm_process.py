"""A JVM as part of an application: in its process group, so that what kills or pauses it acts on both."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway  # type: ignore[import-untyped]


@contextmanager
def _ignored() -> Iterator[None]:
    """A process that is started meanwhile ignores these signals; a JVM takes that over from its parent."""
    handlers = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def start_jvm(jars: Sequence[Path], options: Sequence[str] = ()) -> Any:
    """The gateway of a new JVM with these jars on its class path; it ends with this process.

    The JVM's process is its attribute `proc`, as PySpark's gateway has it.
    """
    (own,) = (Path(str(files("pyspark"))) / "jars").glob("py4j-*.jar")
    # SIGTERM to the process group is for this process, which then stops what runs in the JVM.
    with _ignored():
        port, token, process = launch_gateway(
            jarpath=str(own),
            classpath=os.pathsep.join(map(str, (own, *jars))),
            javaopts=["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", *options],
            die_on_exit=True,
            enable_auth=True,
            # What it logs is the application's own log.
            redirect_stderr=sys.stderr,
            # Without a group of its own: a signal to this process's group reaches the JVM.
            create_new_process_group=False,
            return_proc=True,
        )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token))
    gateway.proc = process
    return gateway
