"""One tool on one history in a process of its own: seconds, the memory of the whole process tree, counts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.bench.checker.peers import PEERS
from tests.bench.checker.processes import use_of

OURS = {"kafka-chaos-sail": "sail", "kafka-chaos-spark": "spark"}
"""Our check as a tool: the engine that runs it."""
TOOLS = (*OURS, *PEERS)
_SAMPLE_SECONDS = 0.05


@dataclass(frozen=True)
class Options:
    """How each measurement is made. `driver_memory` is the heap of our JVM; `profile`: every request of our
    last pass is noted, which takes some time itself."""

    repeats: int = 3
    cores: int = 2
    driver_memory: str = "4g"
    profile: bool = False


@dataclass(frozen=True)
class Answer:
    """The result of one process: `seconds` of every pass, the first one cold; `cpu_seconds` of the same
    passes, which are more telling on a busy machine; `start_seconds` until the tool could begin (imports; for
    us the engine's session). `peak_mib` is the highest sum of resident memory over the process and its
    descendants. `findings` are the counts of the last pass, `profile` is its table
    (`tests.bench.checker.profile`)."""

    start_seconds: float
    seconds: tuple[float, ...]
    cpu_seconds: tuple[float, ...]
    findings: dict[str, int]
    peak_mib: float = 0.0
    profile: str = ""


@dataclass(frozen=True)
class Measurement:
    """A tool's answer on a history of `records` sends and `rows` rows of both journals."""

    tool: str
    shape: str
    records: int
    rows: int
    answer: Answer


def measure(tool: str, folder: Path, options: Options) -> Answer:
    """Run `tool` on a run folder in a new process.

    Raises:
        RuntimeError: the process failed; says with its last lines why.
    """
    settings = json.dumps({"tool": tool, "folder": str(folder), **asdict(options)})
    environment = os.environ | {
        "POLARS_MAX_THREADS": str(options.cores),
        "OMP_NUM_THREADS": str(options.cores),
    }
    # Whatever the process and its engine leave there goes with the folder.
    with (
        tempfile.TemporaryDirectory(prefix="kafka-chaos-bench-") as scratch,
        subprocess.Popen(
            [sys.executable, "-m", "tests.bench.checker.one", settings],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment | {"TMPDIR": scratch},
        ) as process,
    ):
        peak = 0.0
        try:
            while process.poll() is None:
                peak = max(peak, use_of(process.pid).mib)
                time.sleep(_SAMPLE_SECONDS)
        except BaseException:
            process.kill()  # its server ends with it
            raise
        assert process.stdout is not None
        assert process.stderr is not None
        out, err = process.stdout.read(), process.stderr.read()
    if process.returncode != 0:
        raise RuntimeError(f"{tool} on {folder} ended with {process.returncode}: {err[-2000:]}")
    answer = json.loads(out.splitlines()[-1])
    return Answer(
        answer["start_seconds"],
        tuple(answer["seconds"]),
        tuple(answer["cpu_seconds"]),
        answer["findings"],
        round(peak),
        answer["profile"],
    )
