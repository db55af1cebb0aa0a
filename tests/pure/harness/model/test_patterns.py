"""Texts of a wrong form are answered in words: no message shows a pattern of a schema."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel

from harness.lab.bugs.bug import Bug
from harness.lab.explore.menu import MENU
from harness.lab.suite.model import SuiteItem
from harness.many.matrix.spec import MATRIX
from harness.model.errors import BadInput
from harness.model.patterns import WORDS, pattern_words
from harness.spec.experiment_files import EXPERIMENT, parse
from workloads.applications.built_in.built_in import BUILT_IN

pytestmark = pytest.mark.pure

MODELS: tuple[type[BaseModel], ...] = (
    *(EXPERIMENT.model, MATRIX.model, MENU.model, BUILT_IN.model),
    *(Bug, SuiteItem),
)


def patterns_of(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("pattern"), str):
            yield node["pattern"]
        yield from node.get("patternProperties", ())
    for one in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from patterns_of(one)


def test_every_pattern_of_a_schema_has_words_and_no_other_has() -> None:
    found = {pattern for model in MODELS for pattern in patterns_of(model.model_json_schema())}
    assert found == WORDS.keys()


def test_the_examples_in_the_words_are_taken() -> None:
    for pattern, words in WORDS.items():
        examples = re.findall(r"'([^']+)'", words.partition("such as")[2])
        assert examples, words
        assert all(re.search(pattern, one) for one in examples), words


def test_words_show_no_sign_of_a_pattern() -> None:
    for words in WORDS.values():
        assert not re.search(r"\\|\^|\[|\(\?|\{\d|\$'?$", words), words
    assert pattern_words("^x$") == "a text of the form ^x$"


MINIMAL = """title: t
arms: [{{name: a{arm}}}]
steps: [{{write: {{name: w, seconds: 5}}}}]
{more}
"""
IDENTITY = "application: {{run: {{process: [x]}}, identity: {{{0}}}}}"


@pytest.mark.parametrize(
    ("arm", "more", "words"),
    [
        ("", IDENTITY.format("json: id"), "a JSON path, which begins with '$', such as '$.id'"),
        (
            "",
            IDENTITY.format("callable: f"),
            "a module and a function in it, such as 'my.module:my_function'",
        ),
        (" B", "", "a name of small letters, digits and '=+._-', at most 60 characters"),
        ("", "readers: [{name: r, version: '3'}]", "a version of three numbers, such as '4.0.0'"),
        ("", "cluster: {metadata_version: '4'}", "a metadata.version with its number, such as '4.0-IV3'"),
    ],
)
def test_an_experiment_with_a_text_of_a_wrong_form(arm: str, more: str, words: str) -> None:
    with pytest.raises(BadInput) as raised:
        parse(MINIMAL.format(arm=arm, more=more), "f.yaml")
    told = str(raised.value)
    assert words in told
    assert "pattern" not in told
    assert "^" not in told
