"""Recognises files that are no lines name=value: programs, Terraform, TOML, HOCON, INI and XML.

java.util.Properties takes every text: `acks => 1,` of a program would be a setting with the value `> 1,`.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Literal

ForeignSyntax = Literal["program", "terraform", "toml", "hocon", "sections of another tool", "xml", "text"]

_PROGRAMS = frozenset(
    (".java", ".kt", ".kts", ".scala", ".groovy", ".gradle", ".rb", ".py", ".pyi", ".go", ".cs", ".fs", ".ts")
) | {".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs", ".rs", ".php", ".c", ".h", ".cc", ".cpp", ".hpp"}
_PROGRAMS |= {".swift", ".ex", ".exs", ".erl", ".clj", ".lua", ".pl", ".dart", ".jl", ".r", ".ipynb"}
_BY_SUFFIX: dict[str, ForeignSyntax] = {
    **dict.fromkeys(_PROGRAMS, "program"),
    **dict.fromkeys((".tf", ".hcl", ".tfvars"), "terraform"),
    ".toml": "toml",
    ".hocon": "hocon",
    ".xml": "xml",
}
_STATEMENT = re.compile(
    r"^(?:import\s+[\w{*\"'(]|from\s+[\w.]+\s+import\b|package\s+[\w.]+;?\s*$|using\s+[\w.]+;|use\s+[\w\\:]+.*;\s*$"
    r"|(?:public|private|protected|internal|final|static|abstract|export|async|unsafe|namespace)\s+[\w{]"
    r"|(?:class|interface|struct|enum|trait|object|record|module|impl)\s+\w+[^=:]*[{:]?\s*$"
    r"|def\s+\w+|func\s+[\w(]|fun\s+\w+|fn\s+\w+|function\s+\w+|(?:const|let|var|val)\s+[\w{\[]"
    r"|require(?:_relative)?\s*\(?['\"]|(?:[\w.]+\s*=\s*)?new\s+\w+|#include\s*[<\"]|<\?php|#!/)",
    re.MULTILINE,
)
"""Begins a statement, at the begin of a line: no key of YAML and no name of a setting does."""
_BLOCK = re.compile(
    r'^(?:(?:resource|data)\s+"[^"]*"\s+"[^"]*"|(?:module|variable|provider|output)\s+"[^"]*"|locals|terraform)\s*\{',
    re.MULTILINE,
)
_LOG = re.compile(r"\A\s*\[?\d{4}-\d\d-\d\d[ T]\d\d")
_SECTION = re.compile(r"^[ \t]*\[{1,2}[\w.\-\" /:]+\]{1,2}\s*(?:#.*)?$", re.MULTILINE)
_BRACES = re.compile(r"^[ \t]*[\w.\-\"+]+[ \t]*[=:+]{0,2}[ \t]*\{[ \t]*(?:(?:#|//).*)?$", re.MULTILINE)
_OF_PROGRAMS = re.compile(r"=>|\(|\b(?:True|False|None)\b|^[ \t]*[\"'][\w.\-]+[\"']\s*:.*,\s*$", re.MULTILINE)
_NAME = re.compile(r"(?:%[\w,-]+\.)?[A-Za-z_*][\w.\-%$*/@\[\]\"'>{}:\\ ]*")
_VALUE_OF_A_PROGRAM = re.compile(
    r"[>=]\s?.*|.*[{(\[]|.*(?<!\\);|[\"'].*[\"']\s*[,;)].*|(?:-?\d+|true|false|null|nil|None)\s*,"
    r"|(?:new\s+)?\w+(?:(?:\.|::)\w+)+\(.*|\w+\(\s*(?:[\"'].*)?\)?|new\s.*",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")
_BARE = re.compile(r"[\d.]+|true|false|null|\[.*\]|\$\{.*\}", re.IGNORECASE)
_FREE_TEXT = ("jaas.config", "pattern", "sql", "opts", "command", "query", "format")
"""Names with these ends have values with punctuation."""
_SINGLE_WORDS = ("acks", "retries", "listeners", "debug")
"""Names of Kafka without a dot, which may stand before a blank."""


def suffix_syntax(file: str) -> ForeignSyntax | None:
    """What a file is by the end of its name; None: its content tells."""
    return _BY_SUFFIX.get(Path(file).suffix.lower())


def statement_syntax(text: str) -> ForeignSyntax | None:
    """A program or Terraform, by the statements and blocks that begin at the begin of a line."""
    if _BLOCK.search(text):
        return "terraform"
    return "program" if _STATEMENT.search(text) else None


def unlike_properties(text: str, pairs: list[tuple[str, str, str]]) -> ForeignSyntax | None:
    """What a text is whose lines are not all settings; None: they are. `pairs` are its lines as name,
    separator (`=`, `:` or none) and value."""
    if text.lstrip().startswith("<"):
        return "xml"
    if _LOG.search(text):
        return "text"
    sections = _SECTION.search(text)
    strange = sum(_of_a_program(name, value) for name, _, value in pairs)
    words = sum(not sign and "." not in name and name not in _SINGLE_WORDS for name, sign, _ in pairs)
    values = [value.strip() for _, _, value in pairs if value.strip()]
    quoted = [value for value in values if _QUOTED.fullmatch(value)]
    all_quoted = bool(quoted) and all(_QUOTED.fullmatch(value) or _BARE.fullmatch(value) for value in values)
    if sections and (all_quoted or _is_toml(text)):
        return "toml"
    if sections:
        return "sections of another tool"
    if strange and _BRACES.search(text) and not _OF_PROGRAMS.search(text):
        return "hocon"
    if strange:
        return "program"
    if all_quoted:
        return "toml"
    return "text" if words * 2 > len(pairs) else None


def _of_a_program(name: str, value: str) -> bool:
    if _NAME.fullmatch(name) is None:
        return True
    if name.lower().endswith(_FREE_TEXT) or "{{" in value:
        return False
    return _VALUE_OF_A_PROGRAM.fullmatch(value.strip()) is not None


def _is_toml(text: str) -> bool:
    try:
        tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return False
    return True
