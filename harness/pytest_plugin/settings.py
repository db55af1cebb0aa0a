"""Options and ini settings of the plugin."""

from __future__ import annotations

import re
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast, get_args

import pytest

from harness.model.errors import BadInput

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
    "seed": ("N", "seed of all random choices; default: from the clock, shown in the header"),
    "results": ("DIR", f"folder for results; default: {_DEFAULT_RESULTS} in the root folder"),
    "keep": ("WHAT", "results to keep: failed (default), or all"),
    "budget": (
        "AMOUNT",
        "budget of a session: `10m`, `600s`, `20 faults`, or `10m, 20 faults`; then tests are skipped",
    ),
    "cluster-scope": ("SCOPE", "scope of the fixture kafka_cluster: session (default) to function"),
    "reuse": ("YES_OR_NO", "yes (default): a cluster is healed and reused; no: every test gets a new one"),
    "missing": ("WHAT", "what a test does without Docker or Java: fail (default) or skip"),
}
"""Name without prefix -> metavar and help; on the command line `--chaos-NAME`, in ini files `chaos_NAME`."""


@dataclass(slots=True)
class ChaosSpent:
    """How much of its budget a session has used."""

    seconds: float = 0.0
    faults: int = 0


@dataclass(frozen=True, slots=True)
class ChaosBudget:
    """Limits of one session (with pytest-xdist: of one worker). None: no limit."""

    seconds: float | None = None
    faults: int | None = None

    def exceeded(self, spent: ChaosSpent) -> str | None:
        """Why nothing may be started any more; None: the budget is not spent."""
        if self.seconds is not None and spent.seconds >= self.seconds:
            return f"experiments took {spent.seconds:.0f} s of {self.seconds:.0f} s"
        if self.faults is not None and spent.faults >= self.faults:
            return f"{spent.faults} of {self.faults} faults were injected"
        return None


@dataclass(frozen=True, slots=True)
class Settings:
    """The values of options and ini settings; see `OPTIONS`. None: as the experiment says."""

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
    """Index of this pytest-xdist worker, and the number of workers."""

    def create_folder(self, nodeid: str) -> Path:
        """Create a folder for results of this test alone.

        Raises:
            BadInput: it cannot be written.
        """
        name = re.sub(r"[^A-Za-z0-9_=.-]+", "-", nodeid.rpartition("/")[2]).strip("-")[:80]
        with BadInput.for_os_errors(
            "the results folder cannot be written",
            where=self.results,
            next_step="name another one: --chaos-results, or chaos_results in the ini file",
        ):
            self.results.mkdir(parents=True, exist_ok=True)
            return Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self.results))


def add_options(parser: pytest.Parser) -> None:
    """Declare options and ini settings."""
    group = parser.getgroup("kafka-chaos", "chaos on real Kafka clusters")
    for name, (metavar, text) in OPTIONS.items():
        group.addoption(f"--chaos-{name}", metavar=metavar, help=text)
        parser.addini(f"chaos_{name.replace('-', '_')}", text)
    group.addoption(
        "--chaos-replay",
        metavar="RUN",
        help="repeat the faults of this run (an arm's folder, shown below a failure): same seed and nodes",
    )


def settings_of(config: pytest.Config) -> Settings:
    """The settings of this session; the command line overrides ini files.

    Raises:
        pytest.UsageError: a value that cannot be used; the message names the option.
    """
    values = {name: _value_of(config, name) for name in OPTIONS}
    replay = config.getoption("--chaos-replay")
    worker = getattr(config, "workerinput", {})
    return Settings(
        image=values["image"],
        version=values["kafka-version"],
        profile=_one_of("profile", values["profile"], ("kafka", "fast")) if values["profile"] else None,
        seed=int(worker[WORKER_SEED]) if WORKER_SEED in worker else _seed(values["seed"]),
        results=config.rootpath / (values["results"] or _DEFAULT_RESULTS),
        keep=cast(KeepResults, _one_of("keep", values["keep"] or "failed", get_args(KeepResults))),
        budget=parse_budget(values["budget"]),
        scope=cast(Scope, _one_of("cluster-scope", values["cluster-scope"] or "session", get_args(Scope))),
        reuse=_one_of("reuse", values["reuse"] or "yes", ("yes", "no")) == "yes",
        missing=cast(Missing, _one_of("missing", values["missing"] or "fail", get_args(Missing))),
        replay=None if replay is None else config.invocation_params.dir / replay,
        worker=_worker(worker),
    )


def parse_budget(text: str | None) -> ChaosBudget:
    """Read `10m`, `600s`, `1h`, `20 faults`, or one of each with a comma.

    Raises:
        pytest.UsageError: it is none of these.
    """
    limits: dict[str, Any] = {}
    for part in filter(None, (part.strip() for part in (text or "").split(","))):
        time_match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smh])", part, re.ASCII)
        faults_match = re.fullmatch(r"(\d+)\s*faults?", part, re.ASCII)
        if time_match:
            limits["seconds"] = float(time_match[1]) * _UNITS[time_match[2]]
        elif faults_match:
            limits["faults"] = int(faults_match[1])
        else:
            raise _refused("budget", part, "a time like 10m, 600s or 1h, a number like `20 faults`, or both")
    return ChaosBudget(**limits)


def _value_of(config: pytest.Config, name: str) -> str | None:
    option = config.getoption(f"--chaos-{name}")
    written = config.getini(f"chaos_{name.replace('-', '_')}")
    return (option if option is not None else str(written or "")).strip() or None


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


def _worker(worker_input: dict[str, Any]) -> tuple[int, int]:
    number = re.fullmatch(r"gw(\d+)", str(worker_input.get("workerid", "")))
    if number is None:
        return 0, 1
    return int(number[1]), max(int(worker_input.get("workercount", 1)), int(number[1]) + 1)
