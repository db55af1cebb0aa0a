"""The process that holds a server: it ends the server as soon as the command that wanted it is gone.

    python -P -m checkers.engine.supervisor <job.json

It reads one line, a JSON object, from its standard input:

- `scratch`: folder of the server's files, removed at the end,
- `nice`: the least niceness of the server,
- `java`: the command of a Spark Connect server; without it, Sail runs in this very process,
- `seconds`: how long the server may take to start,
- `polite`: whether the JVM is asked to end, so that it can write its archive of classes, or is killed.

It answers with one line on its standard output, `{"url": "sc://127.0.0.1:1234"}` or `{"error": "..."}`. If
the server has started, it then waits until its standard input ends. The other end is held by nobody but the
command, so that the input ends when the command does, SIGKILL included. Everything else that is printed is
the log of the server.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

LOG = "server.log"
_STARTED = re.compile(r"Spark Connect server started at: .*:(\d+)\s*$", re.MULTILINE)
_GIVEN_UP = re.compile(r"^.*(?:Giving up|killed\. Reason: .*)$", re.MULTILINE)
_PR_SET_PDEATHSIG = 1
"""prctl(2): the signal that a process gets when its parent has ended."""


def main() -> None:
    job = json.loads(sys.stdin.readline())
    _lower_priority(job["nice"])
    try:
        if job.get("java"):
            _hold_spark(job["java"], Path(job["scratch"]), job["seconds"], polite=job["polite"])
        else:
            _hold_sail()
    finally:
        shutil.rmtree(job["scratch"], ignore_errors=True)
    # Sail's threads need no farewell, which would take a second.
    os._exit(0)


def _hold_sail() -> None:
    try:
        from pysail.spark import SparkConnectServer

        server = SparkConnectServer("127.0.0.1", 0)
        server.start(background=True)
    except Exception as error:
        _tell(error=f"{type(error).__name__}: {error}")
        return
    host, port = server.listening_address or ("", 0)
    _tell(url=f"sc://{host}:{port}")
    _await_end_of_input()


def _hold_spark(command: list[str], scratch: Path, seconds: float, *, polite: bool) -> None:
    log = scratch / LOG
    with log.open("ab") as stream:
        try:
            # This thread waits for it below, so it is the parent whose end Linux tells.
            child = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=stream, stderr=stream, preexec_fn=_end_with_parent()
            )
        except OSError as error:
            _tell(error=f"{command[0]}: {error.strerror}")
            return

    def end_with_input() -> None:
        _await_end_of_input()
        (child.terminate if polite else child.kill)()

    threading.Thread(target=end_with_input, daemon=True).start()
    deadline = time.monotonic() + seconds
    answer: dict[str, str] = {}
    while not answer and child.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
        text = log.read_text(errors="replace")
        if started := _STARTED.search(text):
            answer = {"url": f"sc://127.0.0.1:{started[1]}"}
        elif given_up := _GIVEN_UP.search(text):
            answer = {"error": given_up[0]}
    if not answer:
        ended = child.poll()
        late = f"it did not start within {seconds:.0f} s"
        how = late if ended is None else how_it_ended(ended)
        answer = {"error": cause_in(log.read_text(errors="replace")) or how}
    _tell(**answer)
    if "error" in answer:
        child.kill()
    child.wait()


def cause_in(log: str) -> str:
    """The first line about a failure in Spark's log, and the next one, where Java often puts the reason.
    Empty: the log tells of no failure."""
    lines = log.splitlines()
    for index, line in enumerate(lines):
        if re.search(r"error|exception|invalid|not found", line, re.IGNORECASE):
            return " ".join(part.strip() for part in lines[index : index + 2] if not part.startswith("\tat "))
    return ""


def how_it_ended(code: int) -> str:
    """A process's return code, as `subprocess` gives it, in words."""
    if code >= 0:
        return f"it ended with exit code {code}"
    # The kernel kills with it when there is no memory left.
    return f"it was killed by {signal.Signals(-code).name}"


def _await_end_of_input() -> None:
    while os.read(0, 4096):
        pass


def _tell(**answer: Any) -> None:
    print(json.dumps(answer), flush=True)


def _lower_priority(nice: int) -> None:
    now = os.getpriority(os.PRIO_PROCESS, 0)
    if nice > now:
        os.setpriority(os.PRIO_PROCESS, 0, nice)


def _end_with_parent() -> Callable[[], None] | None:
    """For a child: have Linux kill it when this process ends, however that happens."""
    if not sys.platform.startswith("linux"):
        return None
    import ctypes

    prctl = ctypes.CDLL(None).prctl
    return lambda: prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    main()
