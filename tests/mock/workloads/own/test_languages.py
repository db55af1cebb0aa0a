"""The journals for other languages: compiled, run, and read as a run reads them.

The programs in tests/support/languages all do the same. A language without a compiler on this machine is left
out.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from harness.model.environment import users_environment
from tests.support.own_journals import taken_over
from tests.support.paths import ROOT
from workloads.own.client_settings import ClientSettings
from workloads.own.journal import Journal
from workloads.own.journal_check import check_journals, refuse_unusable
from workloads.own.language_files import LANGUAGES, language_file
from workloads.own.producer_folder import ProducerFolder, ProducerTarget
from workloads.records.record.carried_identity import identity_of

pytestmark = pytest.mark.mock

RUN = 2**62 + 1
"""More than a number of JavaScript can hold."""
GOLDEN = [
    "4b43483140000000000000017fffffff00200000000000014f73d42a",
    "4b43483140000000000000017fffffff0020000000000001c451c6d6",
]
"""The identity of record 2^53 + 1 of producer 2^31 - 1, with the value "grüße", and without one."""
VALUES = ["grüße".encode(), b"", b"", b"\x00\xff", b"", b"", b""]
"""Of the first sends, whose identities the programs print."""
THREADS = 1000
"""Sends that four threads make together."""
SETTINGS = ClientSettings('probe "1" \\', "all", True, 5, 30_000, 60_000)
PROBE = {"PROBE_CLIENT": SETTINGS.client, "PROBE_ACKS": SETTINGS.acks}


@dataclass(frozen=True)
class Toolchain:
    """What a program needs, how it is compiled in its folder, and how it is started there."""

    main: str
    needs: tuple[str, ...]
    build: tuple[str, ...]
    start: tuple[str, ...]


TOOLCHAINS = {
    "go": Toolchain("main.go", ("go",), ("go", "build", "-o", "probe", "."), ("./probe",)),
    "javascript": Toolchain("main.mjs", ("node",), (), ("node", "main.mjs")),
    "java": Toolchain(
        "Main.java",
        ("javac", "java"),
        ("javac", "--release", "11", "-Xlint:all", "-Werror", "Main.java", "Journal.java"),
        ("java", "-cp", ".", "Main"),
    ),
    "rust": Toolchain(
        "main.rs", ("rustc",), ("rustc", "--edition", "2021", "-D", "warnings", "main.rs"), ("./main",)
    ),
    "csharp": Toolchain(
        "Main.cs",
        ("mcs", "mono"),
        ("mcs", "-codepage:utf8", "-langversion:7.2", "-warnaserror", "Main.cs", "Journal.cs"),
        ("mono", "Main.exe"),
    ),
}
LONG = {"go", "java", "csharp"}
"""Languages whose compilers take more than two seconds; Go compiles its standard library first."""
IN_A_FOLDER = {"go": "kafkachaos"}
"""Languages whose journal has a folder of its own."""


def call(command: tuple[str, ...], folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=folder,
        env=users_environment() | PROBE | variables,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(language, marks=pytest.mark.soak if language in LONG else ()) for language in LANGUAGES
    ],
)
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """A language, and the folder of its program, compiled."""
    language = request.param
    tools = TOOLCHAINS[language]
    missing = [name for name in tools.needs if shutil.which(name) is None]
    if missing:
        pytest.skip(f"{' and '.join(missing)} are not on this machine")
    folder = tmp_path_factory.mktemp(language)
    shutil.copy(ROOT / "tests/support/languages" / tools.main, folder)
    beside = folder / IN_A_FOLDER.get(language, ".")
    beside.mkdir(exist_ok=True)
    (beside / LANGUAGES[language]).write_text(language_file(language))
    if language == "go":
        (folder / "go.mod").write_text("module probe\n\ngo 1.21\n")
    if tools.build:
        built = call(tools.build, folder)
        assert built.returncode == 0, built.stdout + built.stderr
    return language, folder


@pytest.fixture
def own(tmp_path: Path) -> ProducerFolder:
    """The folder of a run in which a producer has written already."""
    folder = ProducerFolder(tmp_path / "producers")
    folder.create(ProducerTarget(RUN, "orders-1"))
    Journal.begin("first 1", acks="all", idempotent=False, journal=folder.path).end()
    return folder


@contextmanager
def running(language: str, program: Path, own: ProducerFolder) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        TOOLCHAINS[language].start,
        cwd=program,
        env=users_environment() | PROBE | own.environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def lines(process: subprocess.Popen[str], number: int) -> list[str]:
    assert process.stdout is not None
    return [process.stdout.readline().rstrip() for _ in range(number)]


def expected_rows() -> list[dict[str, Any]]:
    base = {"producer": 1, "step": 0, "partition": -1, "key": None, "size": 0, "txn": None, "offset": None}
    return [
        {**base, "partition": 2, "size": 7, "offset": 41, "outcome": "acked", "error": None},
        {**base, "outcome": "acked", "error": None},
        {**base, "key": 7, "outcome": "indeterminate"},
        {**base, "size": 2, "outcome": "rejected"},
        *[{**base, "txn": txn, "outcome": "indeterminate", "error": "_NO_REPORT"} for txn in range(3)],
    ]


def test_the_identity_of_records_is_that_of_the_reader() -> None:
    """What the programs are compared with, in plain hexadecimal digits: a change of it breaks all of them."""
    golden = [identity_of(value, RUN, 2**31 - 1, 2**53 + 1).hex() for value in VALUES[:2]]
    assert golden == GOLDEN


def test_a_program_is_journaled_as_a_run_reads_it(program: tuple[str, Path], own: ProducerFolder) -> None:
    language, folder = program
    with running(language, folder, own) as process:
        assert lines(process, 3) == [*GOLDEN, "begun false over false"]
        own.begin()
        identities = [identity_of(value, RUN, 1, seq).hex() for seq, value in enumerate(VALUES)]
        assert lines(process, len(VALUES) + 1) == [*identities, "sent"]
        # A program that was killed now would leave every line.
        written = (own.path / "1.jsonl").read_text().splitlines(keepends=True)
        assert sum('"sent"' in line for line in written) == len(VALUES) + THREADS
        assert written[-1].endswith("}\n")
        events = [json.loads(line) for line in written if '"sent"' in line]
        assert [event.get("id") for event in events[:2]] == ['order "ü" 7', None]
        own.end()
        assert process.wait(60) == 0
    target, (_, checked) = check_journals(own.path)
    refuse_unusable([checked])
    assert (target.run_id, checked.taken.producer, checked.taken.settings) == (RUN, 1, SETTINGS)
    assert (checked.taken.transactions, checked.without_report) == (3, 3)
    sends, transactions = taken_over(own, 1)
    for row, expected in zip(sends, expected_rows(), strict=False):
        assert row | expected == row
    assert [row["timestamp_ms"] for row in sends[:2]] == [1_699_999_999_123, None]
    errors = [str(row["error"]) for row in sends[2:4]]
    assert all(error.isascii() and " " not in error and error for error in errors), errors
    assert [row["outcome"] for row in sends[len(VALUES) :]] == ["acked"] * THREADS
    assert [row["offset"] for row in sends[len(VALUES) :]] == list(range(len(VALUES), len(sends)))
    assert all(row["closed_ns"] >= row["sent_ns"] > 1.7e18 for row in sends if row["error"] != "_NO_REPORT")
    assert [(row["txn"], row["outcome"]) for row in transactions] == [
        (0, "committed"),
        (1, "aborted"),
        (2, "indeterminate"),
    ]


@pytest.mark.parametrize("name", ["KAFKA_CHAOS_JOURNAL", "KAFKA_CHAOS_TOPIC", "KAFKA_CHAOS_RUN"])
def test_a_variable_that_is_missing_is_named(
    program: tuple[str, Path], own: ProducerFolder, name: str
) -> None:
    language, folder = program
    done = call(TOOLCHAINS[language].start, folder, **own.environment() | {name: ""})
    assert done.returncode != 0
    assert f"the environment variable {name} is not set" in done.stdout + done.stderr
    assert [file.name for file in own.event_files()] == ["0.jsonl"]


@pytest.mark.parametrize(("name", "says"), [("PROBE_CLIENT", "library"), ("PROBE_ACKS", "all")])
def test_a_setting_that_no_run_could_use_is_refused(
    program: tuple[str, Path], own: ProducerFolder, name: str, says: str
) -> None:
    language, folder = program
    done = call(TOOLCHAINS[language].start, folder, **own.environment() | {name: " "})
    assert done.returncode != 0
    assert says in done.stdout + done.stderr
    assert [file.name for file in own.event_files()] == ["0.jsonl"]
