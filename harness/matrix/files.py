"""Matrix files, and the matrices that come with kafka-chaos."""

from __future__ import annotations

from harness.config.yaml_files import FileKind
from harness.matrix.spec import MatrixSpec

MATRIX = FileKind(
    MatrixSpec,
    one="a matrix",
    expected="a mapping with name, title, base and axes",
    example="docs/how-to/matrix.md has examples, and `kafka-chaos matrix --show NAME` prints a built-in one",
    schema="kafka-chaos matrix --schema",
    folder="matrices",
)
