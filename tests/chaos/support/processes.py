"""The command line as a process of its own, as a test kills it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.cluster.containers import docker_engine
from harness.model.host.orphans import MARK

COMMAND = [sys.executable, "-m", "kafka_chaos"]


def environment(state: Path | None = None) -> dict[str, str]:
    """Of a process whose cluster outlives it: Ryuk would remove the one with the other."""
    own = {} if state is None else {"KAFKA_CHAOS_STATE": str(state)}
    return {**os.environ, **own, "TESTCONTAINERS_RYUK_DISABLED": "true"}


def started(
    state: Path | None, *arguments: str, more: Mapping[str, str] | None = None
) -> subprocess.Popen[str]:
    """A command under way, which a signal interrupts: a shell's background jobs ignore SIGINT, and what they
    start inherits that, unless there is a handler."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    return subprocess.Popen(
        [*COMMAND, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment(state) | (more or {}),
        start_new_session=True,
    )


def kafka_chaos(state: Path | None, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command that ends by itself, whatever its exit code; never with a traceback."""
    done = subprocess.run(
        [*COMMAND, *arguments],
        env=environment(state),
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert "Traceback" not in done.stderr + done.stdout, done.stderr
    return done


def await_sends(child: subprocess.Popen[str], results: Path, arm: str, seconds: float) -> None:
    """Until sends of this arm are on disk."""
    deadline = time.monotonic() + seconds
    while not list(results.glob(f"*/{arm}/sends/part-*.parquet")):
        assert child.poll() is None, child.communicate()[0]
        assert time.monotonic() < deadline, "no send was journaled"
        time.sleep(0.1)


def owned_by(pid: int) -> list[str]:
    """Containers and networks of ours whose owner is this process."""
    client = docker_engine.connect()
    containers = client.containers.list(all=True, filters={"label": docker_engine.LABEL}, ignore_removed=True)
    labels = {one.name: one.labels for one in containers}
    labels |= {one.name: one.attrs.get("Labels") or {} for one in client.networks.list()}
    return [name for name, of in labels.items() if f"/{pid}/" in of.get(docker_engine.OWNER_LABEL, "")]


def applications_of(pid: int) -> list[str]:
    """Processes of applications that this harness has started."""
    wanted = re.compile(rf"^{MARK}=\S+ [^/\0]+/{pid}/", re.MULTILINE)
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            environment = path.read_bytes().decode(errors="replace").replace("\0", "\n")
        except OSError:
            continue
        found += [path.parent.name] if wanted.search(environment) else []
    return found


def checked(folder: Path, state: Path | None = None) -> dict[str, Any]:
    """What `check` says of a broken run; it must say `unknown` and exit with 3."""
    done = kafka_chaos(state, "check", str(folder), "--json", "-q")
    assert done.returncode == 3, done.stderr
    (arm,) = json.loads(done.stdout)["arms"]
    assert arm["judgement"]["verdict"] == "unknown"
    return dict(arm)
