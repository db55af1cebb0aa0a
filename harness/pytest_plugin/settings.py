"""Options and ini settings of the plugin: what they are called, and what they come to."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast, get_args

import pytest

Scope = Literal["session", "package", "module", "class", "function"]
KeepResults = Literal["failed", "all"]
Missing = Literal["fail", "skip"]

WORKER_SEED = "kafka_chaos_seed"
"""Key of the seed that pytest-xdist's controller hands to its workers: all have the same one."""
_UNITS = {"s": 1, "m": 60, "h": 3600}
_DEFAULT_RESULTS = "chaos-results"

OPTIONS: dict[str, tuple[str, str]] = {
    "image": ("IMAGE", "broker image of every cluster; default: apache/kafka of the version"),
    "kafka-version": ("VERSION", "Kafka version of every cluster; default: as the experiment says"),
    "profile": ("PROFILE", "timing profile of every cluster: kafka (as shipped) or fast"),
    "seed": ("N", "seed of all random choices; default: by the clock, told in the header"),
    "results": ("DIR", f"folder for what runs leave; default: {_DEFAULT_RESULTS} in the root folder"),
    "keep": ("WHAT", "results to keep: failed (default), or all"),
    "budget": (
        "AMOUNT",
        "most chaos of a session: `10m`, `600s`, `20 faults`, or `10m, 20 faults`; then skip",
    ),
    "cluster-scope": ("SCOPE", "how long the fixture kafka_cluster is held: session (default) to function"),
    "reuse": (
        "YES_OR_NO",
        "yes (default): a cluster is healed and used again; no: every user gets a new one",
    ),
    "missing": ("WHAT", "without Docker or Java a test is to: fail (default), or skip"),
}
"""Name without prefix -> metavar and help; on the command line `--chaos-NAME`, in ini files `chaos_NAME`."""


@dataclass(slots=True)
class ChaosSpent:
    """What a session has had of its budget."""

    seconds: float = 0.0
    faults: int = 0


@dataclass(frozen=True, slots=True)
class ChaosBudget:
    """The most chaos that one session (with pytest-xdist: one worker) may have. None: no limit."""

    seconds: float | None = None
    faults: int | None = None

    def gone(self, spent: ChaosSpent) -> str | None:
        """Why nothing may be started any more; None: there is something left."""
        if self.seconds is not None and spent.seconds >= self.seconds:
            return f"experiments took {spent.seconds:.0f} s of {self.seconds:.0f} s"
        if self.faults is not None and spent.faults >= self.faults:
            return f"{spent.faults} of {self.faults} faults were injected"
        return None


@dataclass(frozen=True, slots=True)
class Settings:
    """What the options and ini settings come to; see `OPTIONS`. None: as the experiment says."""

    image: str | None
    version: str | None
    profile: str | None
    seed: int
    results: Path
    keep: KeepResults
    budget: ChaosBudget
    scope: Scope
    reuse: bool
    missing: Missing
    replay: Path | None
    worker: tuple[int, int] = (0, 1)
    """Number of this pytest-xdist worker, and how many there are."""


def add_options(parser: pytest.Parser) -> None:
    """Declare options and ini settings."""
    group = parser.getgroup("kafka-chaos", "chaos on real Kafka clusters")
    for name, (metavar, text) in OPTIONS.items():
        group.addoption(f"--chaos-{name}", metavar=metavar, help=text)
        parser.addini(f"chaos_{name.replace('-', '_')}", text)
    group.addoption(
        "--chaos-replay",
        metavar="RUN",
        help="repeat the faults of this run (the folder of an arm that a failure names): same seed and nodes",
    )


def settings_of(config: pytest.Config) -> Settings:
    """What was asked for; the command line wins over ini files.

    Raises:
        pytest.UsageError: a value that cannot be used; names the option.
    """
    given = {name: _given(config, name) for name in OPTIONS}
    replay = config.getoption("--chaos-replay")
    worker = getattr(config, "workerinput", {})
    return Settings(
        image=given["image"],
        version=given["kafka-version"],
        profile=_one_of("profile", given["profile"], ("kafka", "fast")) if given["profile"] else None,
        seed=int(worker[WORKER_SEED]) if WORKER_SEED in worker else _seed(given["seed"]),
        results=config.rootpath / (given["results"] or _DEFAULT_RESULTS),
        keep=cast(KeepResults, _one_of("keep", given["keep"] or "failed", get_args(KeepResults))),
        budget=parse_budget(given["budget"]),
        scope=cast(Scope, _one_of("cluster-scope", given["cluster-scope"] or "session", get_args(Scope))),
        reuse=_one_of("reuse", given["reuse"] or "yes", ("yes", "no")) == "yes",
        missing=cast(Missing, _one_of("missing", given["missing"] or "fail", get_args(Missing))),
        replay=None if replay is None else config.invocation_params.dir / replay,
        worker=_worker(worker),
    )


def parse_budget(text: str | None) -> ChaosBudget:
    """Read `10m`, `600s`, `1h`, `20 faults`, or one of each with a comma.

    Raises:
        pytest.UsageError: it is none of these.
    """
    found: dict[str, Any] = {}
    for part in filter(None, (part.strip() for part in (text or "").split(","))):
        time_given = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smh])", part, re.ASCII)
        faults_given = re.fullmatch(r"(\d+)\s*faults?", part, re.ASCII)
        if time_given:
            found["seconds"] = float(time_given[1]) * _UNITS[time_given[2]]
        elif faults_given:
            found["faults"] = int(faults_given[1])
        else:
            raise _refused("budget", part, "a time like 10m, 600s or 1h, a number like `20 faults`, or both")
    return ChaosBudget(**found)


def _given(config: pytest.Config, name: str) -> str | None:
    said = config.getoption(f"--chaos-{name}")
    written = config.getini(f"chaos_{name.replace('-', '_')}")
    return (said if said is not None else str(written or "")).strip() or None


def _seed(text: str | None) -> int:
    if text is None:
        return int(time.time())
    if not re.fullmatch(r"\d{1,18}", text, re.ASCII):
        raise _refused("seed", text, "a whole number")
    return int(text)


def _one_of(name: str, value: str, known: tuple[str, ...]) -> str:
    if value not in known:
        raise _refused(name, value, f"one of {', '.join(known)}")
    return value


def _refused(name: str, value: str, expected: str) -> pytest.UsageError:
    option, ini = f"--chaos-{name}", f"chaos_{name.replace('-', '_')}"
    return pytest.UsageError(f"kafka-chaos: {option} (ini: {ini}) is {value!r}; expected {expected}")


def _worker(given: dict[str, Any]) -> tuple[int, int]:
    number = re.fullmatch(r"gw(\d+)", str(given.get("workerid", "")))
    if number is None:
        return 0, 1
    return int(number[1]), max(int(given.get("workercount", 1)), int(number[1]) + 1)
