"""Changes the checkers on purpose, one small change at a time, and counts the changes that a test notices.

    python -m tests.mutants [--sample 150] [--seed 1] [--only checkers/records/facts.py]

mutmut makes the changed functions. One process, which Sail's server is a part of, runs the tests, so that a
change takes seconds and holds in the server's Python functions, too. A first pass without any change records
which test reaches which function. Each change is then tried with the tests that reach it, the fastest first,
until one fails. Prints every change that no test notices with its difference, then the score. Exit code 1 if
the score is below `--least`.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import difflib
import io
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("checkers", "harness", "faults", "workloads", "tests", "compose", "docs", "pyproject.toml")
NOT_CHECKS = ("engine", "job.py", "rates", "questions", "statistics")
"""Folders and files of checkers/ that are left out: they start engines, or answer other questions."""
TESTS = (
    "tests/pure/checkers/test_blame.py",
    "tests/pure/checkers/test_judge.py",
    *(
        f"tests/spark/checkers/test_{name}.py"
        for name in (
            *("reports", "counts", "leadership", "blame", "chunks", "chunk_sizes", "unknown_values"),
            *("findings", "findings_of_readers", "deliveries", "replicas", "outputs", "groups", "share"),
            *("runs", "hostile_data", "other_places", "against_oracle", "outputs_against_oracle"),
            "groups_against_oracle",
        )
    ),
    "tests/spark/harness/tools/interop/test_imported.py",
)
HITS = "hits"
SITE = """
import os
from pathlib import Path

from mutmut.mutation import trampoline

def hit(name, caller=None):
    path = Path(os.environ["MUTANT_HITS"], name)
    path.exists() or path.touch()

trampoline.record_trampoline_hit = hit
"""
"""This process, and every other of the copy, runs this first: it creates a file for each function that is
reached, of those that can be changed."""
TIMES_AS_LONG = 5
"""A change that makes a test take this many times longer counts as noticed, but is marked "took too long",
since other work on the machine may be the reason."""


def main() -> int:
    options = _arguments()
    with tempfile.TemporaryDirectory(prefix="kafka-chaos-mutants-") as place:
        os.chdir(place)
        # mutmut looks for its settings where it runs.
        (Path(place) / "setup.cfg").write_text("[mutmut]\nsource_paths=checkers\n")
        names, sources = _mutate(Path(place), options.only)
        chosen = sorted(names)
        if options.sample and options.sample < len(chosen):
            chosen = sorted(random.Random(options.seed).sample(chosen, options.sample))
        print(f"{len(names)} changes are possible, {len(chosen)} tried (seed {options.seed})", flush=True)
        sys.path.insert(0, place)
        # Processes that tests start import the copy too, and not what is installed.
        os.environ["PYTHONPATH"] = place
        os.environ["MUTANT_HITS"] = str(Path(place) / HITS)
        (Path(place) / HITS).mkdir()
        (Path(place) / "sitecustomize.py").write_text(SITE)
        exec(SITE, {})
        for name in [name for name in sys.modules if name.split(".")[0] in PACKAGES]:
            del sys.modules[name]
        survivors = _survivors(chosen, Path(place))
    for name in survivors:
        print(f"\nsurvived: {name}\n{_difference(name, sources)}")
    score = 1 - len(survivors) / len(chosen)
    print(f"\n{len(chosen) - len(survivors)} of {len(chosen)} noticed: {score:.1%}")
    return int(score < options.least)


def _mutate(place: Path, only: list[str]) -> tuple[list[str], dict[str, str]]:
    """Write a copy of the project that has all changes, switched off; returns their names, and the changed
    sources by module."""
    from mutmut.mutation.file_mutation import mutate_file_contents

    for name in PACKAGES:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, place / name, ignore=shutil.ignore_patterns("__pycache__"))
        elif source.exists():
            shutil.copy(source, place / name)
    names: list[str] = []
    sources: dict[str, str] = {}
    for path in sorted((place / "checkers").rglob("*.py")):
        inside = path.relative_to(place)
        if any(part in NOT_CHECKS for part in inside.parts) or (only and str(inside) not in only):
            continue
        changed = mutate_file_contents(str(path), _classes_undecorated(path.read_text()))
        path.write_text(changed.code)
        module = ".".join(inside.with_suffix("").parts)
        sources[module] = changed.code
        names += [f"{module}.{name}" for name in changed.mutant_names]
    return names, sources


def _classes_undecorated(source: str) -> str:
    """The same module with `name = finding_class(...)(name)` instead of decorators, since mutmut leaves out
    functions that have one."""
    tree = ast.parse(source)
    body: list[ast.stmt] = []
    for node in tree.body:
        body.append(node)
        if isinstance(node, ast.FunctionDef):
            for made_by in [
                one for one in node.decorator_list if ast.unparse(one).startswith("finding_class(")
            ]:
                node.decorator_list.remove(made_by)
                body += ast.parse(f"{node.name} = {ast.unparse(made_by)}({node.name})").body
    tree.body = body
    return ast.unparse(ast.fix_missing_locations(tree))


def _survivors(chosen: list[str], place: Path) -> list[str]:
    """Names of the changes that no test noticed."""
    from pysail.spark import SparkConnectServer

    from checkers.engine.connect import open_session

    server = SparkConnectServer("127.0.0.1", 0)
    server.start(background=True)
    session = open_session(f"sc://127.0.0.1:{server.listening_address[1]}")

    class OneSession:
        """A pytest plugin whose fixture is the one session of all runs."""

        @pytest.fixture(scope="session")
        def spark(self) -> Any:
            return session

    def passes(tests: Sequence[str], *plugins: object) -> bool:
        output = io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            code = pytest.main(
                ["-x", "-q", "-p", "no:cacheprovider", "--no-header", "-m", "not soak", *tests],
                plugins=[OneSession(), *plugins],
            )
        return code == 0

    # The fixture of conftest.py would win over a plugin's.
    conftest = place / "tests" / "spark" / "conftest.py"
    conftest.write_text(conftest.read_text().replace("def spark(", "def another_spark("))

    os.environ["MUTANT_UNDER_TEST"] = "stats"
    reached = Reached(place / HITS)
    if not passes(TESTS, reached):
        raise SystemExit("the tests fail without any change: python -m pytest " + " ".join(TESTS))
    seconds = reached.seconds
    print(f"without a change {len(seconds)} tests take {sum(seconds.values()):.0f} s", flush=True)
    survivors = []
    for number, name in enumerate(chosen, 1):
        tests = sorted(reached.by[name.rpartition("__mutmut_")[0]], key=lambda test: seconds[test])
        os.environ["MUTANT_UNDER_TEST"] = name
        began = time.perf_counter()
        limits = Impatient(seconds)
        survived = not tests or passes(tests, limits)
        survivors += [name] if survived else []
        word = "SURVIVED" if survived else "took too long" if limits.reached else "noticed"
        took = time.perf_counter() - began
        print(f"{number}/{len(chosen)} {word} {took:.1f} s, {len(tests)} tests: {name}", flush=True)
    session.stop()
    server.stop()
    return survivors


class Reached:
    """A pytest plugin: which functions each test reaches (`by` function), and how long it takes."""

    def __init__(self, hits: Path) -> None:
        self._hits = hits
        self.by: dict[str, list[str]] = defaultdict(list)
        self.seconds: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.when == "call":
            self.seconds[report.nodeid] = report.duration
        if report.when == "teardown":
            for path in self._hits.iterdir():
                self.by[path.name].append(report.nodeid)
                path.unlink()


class Impatient:
    """A pytest plugin: a test that takes much longer than without a change fails."""

    def __init__(self, seconds: dict[str, float]) -> None:
        self._seconds = seconds
        self.reached = False

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        try:
            with _limited(TIMES_AS_LONG * round(self._seconds.get(item.nodeid, 0) + 5)):
                yield
        except TimeoutError:
            self.reached = True
            raise


@contextlib.contextmanager
def _limited(seconds: int) -> Any:
    def stop(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _difference(name: str, sources: dict[str, str]) -> str:
    """The lines that a change changes."""
    module, _, function = name.rpartition(".")
    original = function.rpartition("__mutmut_")[0] + "__mutmut_orig"
    found = {}
    for node in ast.walk(ast.parse(sources[module])):
        if isinstance(node, ast.FunctionDef) and node.name in (function, original):
            node.name = "changed"
            found["new" if node.name == function else len(found)] = ast.unparse(node).splitlines()
    bodies = list(found.values())
    lines = difflib.unified_diff(*bodies[:2], lineterm="", n=0) if len(bodies) == 2 else iter(())
    return "\n".join(line for line in lines if not line.startswith(("---", "+++", "@@")))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--sample", type=int, default=0, help="number of changes, chosen at random (0: all)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", default=[], metavar="FILE", help="changes of this file")
    parser.add_argument("--least", type=float, default=0.0, help="exit code 1 below this score (0 to 1)")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
