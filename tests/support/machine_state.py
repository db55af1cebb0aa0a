"""What the machine did while a test ran, for the report of one that failed: a broker that nobody let run
looks like one that is broken."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
"""Linux; elsewhere nothing is told."""

_HUNDREDTHS = 100.0
"""Of a second, in which the kernel counts for programs (USER_HZ, proc(5))."""


@dataclass(frozen=True)
class Reading:
    """Seconds since the boot, summed over all processors (proc(5), /proc/stat): `idle`, `waited` for a disk,
    `stolen` by the machine's own host, and `total`. `stalled`: the seconds by the clock in which a process
    waited for a processor (/proc/pressure/cpu), None where the kernel does not say."""

    idle: float
    waited: float
    stolen: float
    total: float
    stalled: float | None


def reading(proc: Path = PROC) -> Reading | None:
    """The counters now, or None where there are none."""
    try:
        first = (proc / "stat").read_text().partition("\n")[0].split()
        counted = [int(field) / _HUNDREDTHS for field in first[1:9]]
    except (OSError, ValueError):
        return None
    if len(counted) < 8:
        return None
    return Reading(counted[3], counted[4], counted[7], sum(counted), _stalled(proc))


def _stalled(proc: Path) -> float | None:
    try:
        some = (proc / "pressure" / "cpu").read_text().partition("\n")[0]
        return int(some.rpartition("total=")[2]) / 1e6
    except (OSError, ValueError):
        return None


def told(before: Reading | None, after: Reading | None, seconds: float, proc: Path = PROC) -> str:
    """Shares of the processors' time between two readings, `seconds` apart; load and free memory now."""
    if before is None or after is None or after.total <= before.total:
        return "nothing is known of the machine"
    span = after.total - before.total
    shares = {
        name: (getattr(after, name) - getattr(before, name)) / span for name in ("idle", "waited", "stolen")
    }
    lines = [f"processors: {' · '.join(f'{name} {share:.0%}' for name, share in shares.items())}"]
    if before.stalled is not None and after.stalled is not None and seconds > 0:
        lines[0] += f" · somebody waited for one {(after.stalled - before.stalled) / seconds:.0%} of the time"
    lines += [
        line
        for line in (_line(proc / "loadavg", "", "load: "), _line(proc / "meminfo", "MemAvailable:"))
        if line
    ]
    return "\n".join(lines)


def _line(path: Path, begins: str, title: str = "") -> str:
    try:
        found = [line for line in path.read_text().splitlines() if line.startswith(begins)]
    except OSError:
        return ""
    return title + " ".join(found[0].split()) if found else ""
