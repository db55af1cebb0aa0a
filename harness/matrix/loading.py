"""Matrix files, and the matrices that come with kafka-chaos."""

from __future__ import annotations

import difflib
import json
from importlib import resources
from pathlib import Path

from harness.loading import Kind, parse_as
from harness.matrix.spec import MatrixSpec
from harness.model.errors import BadInput

MATRIX = Kind(
    one="a matrix",
    expected="a mapping with name, title, base and axes",
    example="docs/matrix.md has examples, and `kafka-chaos matrix --show NAME` prints a built-in one",
    schema="kafka-chaos matrix --schema",
)
_SUFFIXES = (".yaml", ".yml", ".json")


def builtin_names() -> tuple[str, ...]:
    """Names of the matrices that come with kafka-chaos."""
    folder = resources.files("harness") / "matrices"
    return tuple(sorted(Path(entry.name).stem for entry in folder.iterdir() if entry.name.endswith(".yaml")))


def builtin_text(name: str) -> str:
    """The YAML text of a built-in matrix.

    Raises:
        BadInput: there is none of this name.
    """
    if name not in builtin_names():
        raise _unknown(name)
    return (resources.files("harness") / "matrices" / f"{name}.yaml").read_text()


def load(name_or_path: str) -> tuple[MatrixSpec, str]:
    """A built-in matrix by its name, or a matrix file by its path; with what messages call it.

    Raises:
        BadInput: no such matrix, not YAML, or not a matrix: names the place in the file.
    """
    if name_or_path in builtin_names():
        source = f"built-in matrix {name_or_path}"
        return parse_as(MatrixSpec, builtin_text(name_or_path), source, MATRIX), source
    path = Path(name_or_path)
    if path.suffix not in _SUFFIXES:
        raise _unknown(name_or_path)
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(
            "the matrix file cannot be read", where=str(path), found=str(error), next_step=MATRIX.example
        ) from error
    return parse_as(MatrixSpec, text, str(path), MATRIX), str(path)


def _unknown(name: str) -> BadInput:
    close = difflib.get_close_matches(name, builtin_names(), n=1)
    return BadInput(
        f"no matrix is called {name!r}",
        expected=f"one of {', '.join(builtin_names())}, or a file ending in {', '.join(_SUFFIXES)}",
        next_step=f"did you mean {close[0]}?" if close else MATRIX.example,
    )


def schema_text() -> str:
    """JSON schema (2020-12) of matrix files."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **MatrixSpec.model_json_schema(by_alias=True),
    }
    return json.dumps(schema, indent=2) + "\n"
