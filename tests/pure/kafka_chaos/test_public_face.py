"""The public package: what the documentation shows is what it exports, and it costs nothing to import."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import kafka_chaos
from tests.support.paths import ROOT

pytestmark = pytest.mark.pure

REFERENCE = ROOT / "docs" / "reference" / "python.md"
PAGES = sorted([ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")])
SCRIPTS = sorted(ROOT.glob("examples/**/*.py"))
PRIVATE = {"harness", "faults", "workloads", "checkers", "compose"}
HEAVY = {"pyspark", "docker", "confluent_kafka", "pandas", "pyarrow", "pydantic", *PRIVATE}


def python_of(path: Path) -> list[str]:
    """The Python code of a script or of a Markdown page's code blocks."""
    text = path.read_text()
    return [text] if path.suffix == ".py" else re.findall(r"```python\n(.*?)```", text, re.DOTALL)


def imports_of(path: Path) -> set[tuple[str, str]]:
    """(module, name) of everything that the code imports; the name is empty for `import module`. Imports in
    running text (`from module import name`) count too."""
    found = set()
    inline = re.findall(r"`(from \w+(?:\.\w+)* import [\w, ]+)`", path.read_text())
    for code in [*python_of(path), *inline]:
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.ImportFrom):
                found |= {(node.module or "", alias.name) for alias in node.names}
            elif isinstance(node, ast.Import):
                found |= {(alias.name, "") for alias in node.names}
    return found


DOCUMENTED = {path: imports_of(path) for path in [*PAGES, *SCRIPTS]}
OWN = ("proxied_brokers.py", "written_again.py")
"""Scripts of open bugs that ask real brokers through the project's own proxies and protocol, which are not
public: they are run in a checkout, and nobody builds on them."""


def test_no_page_and_no_example_imports_a_private_module() -> None:
    private = [
        (path.name, module)
        for path, imports in DOCUMENTED.items()
        for module, _ in imports
        if module.partition(".")[0] in PRIVATE and path.name not in OWN
    ]
    assert private == []


def test_every_documented_import_is_exported() -> None:
    names = {name for imports in DOCUMENTED.values() for module, name in imports if module == "kafka_chaos"}
    assert {"run_experiment", "Experiment", "faults", "check_results", "ChaosResult"} <= names
    assert names <= set(kafka_chaos.__all__)


def test_every_exported_name_is_on_the_reference_page() -> None:
    page = REFERENCE.read_text()
    names = {*kafka_chaos.__all__, *kafka_chaos.faults.__all__, *kafka_chaos.targets.__all__}
    assert [name for name in sorted(names) if not re.search(rf"`{name}[`(]", page)] == []


def test_the_code_of_the_reference_page_makes_an_experiment(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    monkeypatch.setattr(kafka_chaos, "run_experiment", made.append)
    exec(python_of(REFERENCE)[1], {})
    assert [experiment.name for experiment in made] == ["small-cluster"]


def test_every_exported_name_can_be_imported_and_unknown_ones_are_refused() -> None:
    assert kafka_chaos.__all__ == sorted(kafka_chaos.__all__)
    assert all(getattr(kafka_chaos, name) is not None for name in kafka_chaos.__all__)
    assert set(kafka_chaos.__all__) <= set(dir(kafka_chaos))
    with pytest.raises(AttributeError, match="no attribute 'Colour'"):
        kafka_chaos.Colour  # noqa: B018


def test_type_checkers_see_exactly_the_exported_names() -> None:
    tree = ast.parse(Path(kafka_chaos.__file__).read_text())
    (typed,) = [node for node in tree.body if isinstance(node, ast.If)]
    homes = {
        alias.name: node.module
        for node in typed.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert sorted([*homes, "__version__"]) == sorted(kafka_chaos.__all__)
    lazily = kafka_chaos._MODULE_OF | dict.fromkeys(("faults", "targets"), "kafka_chaos")
    assert homes == lazily


def test_importing_it_loads_nothing_heavy() -> None:
    code = (
        "import sys, kafka_chaos\n"
        "def top(): return {name.partition('.')[0] for name in sys.modules}\n"
        f"assert not top() & {HEAVY!r}, top()\n"
        "from kafka_chaos import BadInput, Experiment, faults\n"
        "assert not top() & {'pyspark', 'docker', 'confluent_kafka'}, top()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_it_runs_as_the_command_line() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "kafka_chaos", "--help"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "kafka-chaos" in done.stdout
    assert "doctor" in done.stdout


def test_it_is_marked_as_typed() -> None:
    assert Path(kafka_chaos.__file__).with_name("py.typed").exists()
