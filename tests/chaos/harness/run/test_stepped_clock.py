"""The clock of the machine that the harness runs on is stepped in the middle of a run; the brokers' is not.

Every time that the harness writes down comes from Python's clock, which is shifted here; its waits are by the
monotonic clock, which a step does not move.
"""

from __future__ import annotations

import json
import re
import struct
import subprocess
from pathlib import Path

import pytest

from tests.chaos.support.processes import COMMAND, environment, kafka_chaos

pytestmark = [pytest.mark.chaos, pytest.mark.soak]

SHIFTED = """
import mmap, os, struct, time
_file = open(os.environ["SHIFT"], "rb")
_shift = mmap.mmap(_file.fileno(), 8, prot=mmap.PROT_READ)
_real = time.time_ns
time.time_ns = lambda: _real() + struct.unpack("q", _shift)[0]
time.time = lambda: time.time_ns() / 1e9
"""
"""What every Python process of the run begins with."""
HOUR_NS = 3_600_000_000_000


@pytest.mark.parametrize("step_ns", [HOUR_NS, -HOUR_NS], ids=["forward", "back"])
def test_losses_are_told_as_they_are(step_ns: int, tmp_path: Path) -> None:
    results, state, shift = tmp_path / "results", tmp_path / "state", tmp_path / "shift"
    (tmp_path / "sitecustomize.py").write_text(SHIFTED)
    shift.write_bytes(struct.pack("q", 0))
    child = subprocess.Popen(
        [*COMMAND, "run", "cut-then-kill", "--results", str(results)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment(state) | {"PYTHONPATH": f"{tmp_path}:.", "SHIFT": str(shift)},
    )
    assert child.stdout is not None
    said = ""
    # There the first arm's cut is open; in the second the clock is put right again.
    to_come = [("acks=1", step_ns), ("acks=all", 0)]
    for line in child.stdout:
        said += line
        if to_come and re.search(rf"{to_come[0][0]} · step \d of \d: waiting for an ISR", line):
            with shift.open("r+b") as file:
                file.write(struct.pack("q", to_come.pop(0)[1]))
    assert child.wait() == 0, said
    assert to_come == [], said
    (run,) = results.glob("cut-then-kill-*")
    again = kafka_chaos(state, "check", str(run), "--json", "-q")
    assert again.returncode == 0, again.stderr
    arms = {arm["meta"]["arm"]: arm for arm in json.loads(again.stdout)["arms"]}
    assert arms["acks=1"]["summary"]["findings"] == {"lost": 500}
    assert arms["acks=all"]["summary"]["findings"] == {}
    assert {name: arm["judgement"]["verdict"] for name, arm in arms.items()} == {
        "acks=1": "invalid",
        "acks=all": "valid",
    }
