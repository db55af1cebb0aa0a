"""Which engine runs the pipeline, and how it was chosen. Pure: nothing here starts anything."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, get_args
from urllib.parse import urlsplit

from harness.model.errors import BadInput

EngineWord = Literal["auto", "spark", "sail"]
EngineName = Literal["spark", "sail"]

ENGINE_VARIABLE = "KAFKA_CHAOS_ENGINE"
"""Environment variable that names the engine where `--engine` does not."""

SAIL_ROWS = 200_000_000
"""Runs with up to as many rows in all journals are checked by Sail, if nothing else is said: its server
starts in less than a second, where Apache Spark's first pass takes several."""

OPTIMISED_ROWS = 1_000_000
"""From as many rows in all journals on, the JVM's optimising compiler saves more time than it takes."""

JVM_MARGIN = 2**30
"""Bytes that a JVM of Spark and its Python workers need beside the heap."""

_KINDS = ("spark://", "sc://", "k8s://", "yarn")
_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


@dataclass(frozen=True)
class EngineChoice:
    """What was asked for: `engine` ("auto": not said) and, for Apache Spark, where and how it runs.

    `settings` are Spark's own and override ours, `jars` are added to its class path, `driver_memory` is the
    heap of its JVM ("4g"; a server at `sc://` has its own). `optimised`: its JVM on this machine uses its
    optimising compiler.
    """

    engine: EngineWord = "auto"
    master: str = "local[*]"
    driver_memory: str = "4g"
    settings: Mapping[str, str] = field(default_factory=dict)
    jars: tuple[Path, ...] = ()
    optimised: bool = False

    @property
    def is_local(self) -> bool:
        return re.fullmatch(r"local(\[.*\])?", self.master) is not None

    @property
    def is_connect(self) -> bool:
        return self.master.startswith("sc://")

    @property
    def on_this_machine(self) -> bool:
        """Local, or a master that listens on the loopback address, so that all of it is here."""
        host = urlsplit(self.master.split(",")[0]).hostname if "://" in self.master else None
        return self.is_local or host in ("localhost", "127.0.0.1", "::1")

    @property
    def asks_for_spark(self) -> bool:
        """Whether something is said that only Apache Spark has: a master, a setting or a jar."""
        return self.master != "local[*]" or bool(self.settings) or bool(self.jars)

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for choices that one server can serve."""
        settings = tuple(sorted(self.settings.items()))
        return (self.engine, self.master, self.driver_memory, settings, self.jars, self.optimised)

    def for_rows(self, rows: int | None) -> EngineChoice:
        """The same for journals with as many rows, None if it is not known how many."""
        return replace(self, optimised=rows is None or rows >= OPTIMISED_ROWS)

    def checked(self) -> EngineChoice:
        """Itself.

        Raises:
            BadInput: there is no such engine, master or size of a heap, the parts contradict each other, or a
                Spark Connect server is to get jars.
        """
        engine_word(self.engine, where="--engine")
        if not self.is_local and not self.master.startswith(_KINDS):
            raise BadInput(
                "this is no Spark master",
                where=f"--spark-master {self.master}",
                expected="local[N], spark://host:port, sc://host:port (Spark Connect), k8s://... or yarn",
                next_step="correct it; see docs/how-to/scale.md",
            )
        heap_bytes(self.driver_memory)
        if self.engine == "sail" and self.asks_for_spark:
            more = [*self.settings, *(path.name for path in self.jars)]
            raise BadInput(
                "Sail has no master, no settings and no jars of Spark",
                where="--engine sail",
                found=", ".join(more) if self.master == "local[*]" else self.master,
                next_step="leave out --engine, or what only Spark has (--spark-master, --spark-conf, "
                "--read-with spark)",
            )
        if self.is_connect and self.jars:
            raise BadInput(
                "a Spark Connect server brings its own jars",
                where=f"--spark-master {self.master}",
                next_step="start the server with them (--jars), and run this without",
            )
        return self


@dataclass(frozen=True)
class Decision:
    """A choice whose engine is known, and a sentence if it is not the usual one ("" otherwise)."""

    choice: EngineChoice
    reason: str = ""

    @property
    def engine(self) -> EngineName:
        return "sail" if self.choice.engine == "sail" else "spark"


def decide(
    choice: EngineChoice, usual: EngineName, environment: Mapping[str, str], available: int | None
) -> Decision:
    """The engine for a choice.

    What the choice names goes first, then a master or settings of Spark, then the environment variable
    KAFKA_CHAOS_ENGINE, then `usual`. A usual Spark on this machine that would not fit into the `available`
    bytes of memory (None: not known) is replaced by Sail, with a reason; one that was asked for is not.

    Raises:
        BadInput: as `EngineChoice.checked`, or the variable names no engine.
    """
    choice = choice.checked()
    if choice.engine != "auto":
        return Decision(choice)
    if choice.asks_for_spark:
        return Decision(replace(choice, engine="spark"))
    named = engine_word(environment.get(ENGINE_VARIABLE) or "auto", where=ENGINE_VARIABLE)
    if named != "auto":
        return Decision(replace(choice, engine=named))
    heap = heap_bytes(choice.driver_memory)
    if usual == "spark" and available is not None and available < heap + JVM_MARGIN:
        return Decision(
            replace(choice, engine="sail"),
            f"using Sail, since Spark needs {(heap + JVM_MARGIN) / 2**30:.1f} GiB of memory and "
            f"{available / 2**30:.1f} GiB are free",
        )
    return Decision(replace(choice, engine=usual))


def usual_engine(rows: int | None) -> EngineName:
    """The engine for journals with as many rows, None if it is not known how many."""
    return "sail" if rows is not None and rows <= SAIL_ROWS else "spark"


def engine_word(word: str, *, where: str) -> EngineWord:
    """A word that names an engine.

    Raises:
        BadInput: it names none.
    """
    known: tuple[EngineWord, ...] = get_args(EngineWord)
    if word in known:
        return known[known.index(word)]
    raise BadInput(
        "there is no such engine",
        where=where,
        expected=", ".join(known),
        found=word,
        next_step="correct it, or leave it out",
    )


def heap_bytes(text: str) -> int:
    """A size of a heap as Java's -Xmx takes it ("4g", "512m"), in bytes.

    Raises:
        BadInput: it is none.
    """
    match = re.fullmatch(r"(\d+)([kmgt]?)", text.strip().lower())
    if match is None:
        raise BadInput(
            "this is no size of a heap",
            where=f"--driver-memory {text}",
            expected="a whole number with a unit, such as 512m or 4g",
            next_step="correct it, or leave it out",
        )
    return int(match[1]) * _UNITS[match[2]]


def available_memory(meminfo: Path = Path("/proc/meminfo")) -> int | None:
    """Bytes that new processes can use without swapping (MemAvailable of proc_meminfo(5)); None: this system
    does not say."""
    try:
        match = re.search(r"^MemAvailable:\s+(\d+) kB", meminfo.read_text(), re.MULTILINE)
    except OSError:
        return None
    return int(match[1]) * 1024 if match else None


def parse_settings(given: list[str]) -> dict[str, str]:
    """`spark.name=value`, ... as a mapping.

    Raises:
        BadInput: one is not of that form.
    """
    pairs = [setting.partition("=") for setting in given]
    for name, sign, _ in pairs:
        if not sign or not name.startswith("spark."):
            raise BadInput(
                "this is not a setting of Spark",
                where=f"--spark-conf {name}",
                expected="spark.name=value",
                next_step="correct it; Spark's documentation, Configuration, lists them",
            )
    return {name: value for name, _, value in pairs}
