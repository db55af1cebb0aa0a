"""What the patterns of users' files mean, in words: messages show these, never a pattern."""

from __future__ import annotations

_NAME = (
    "a name of small letters, digits and {signs}, at most {most} characters, that begins with {first}, such "
    "as {example!r}"
)

WORDS = {
    r"^[a-z][a-z0-9-]{0,39}$": _NAME.format(signs="'-'", most=40, first="a letter", example="after-kill"),
    r"^[a-z0-9][a-z0-9=+._-]{0,59}$": _NAME.format(
        signs="'=+._-'", most=60, first="a letter or digit", example="acks=all"
    ),
    r"^[a-z0-9][a-z0-9=+._-]{0,39}$": _NAME.format(
        signs="'=+._-'", most=40, first="a letter or digit", example="acks=all"
    ),
    r"^[a-z0-9][a-z0-9-]{0,29}$": _NAME.format(
        signs="'-'", most=30, first="a letter or digit", example="safe"
    ),
    r"^[A-Za-z][A-Za-z0-9_.-]{0,39}$": (
        "a name of letters, digits and '_.-', at most 40 characters, that begins with a letter, such as "
        "'acks'"
    ),
    r"^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$": (
        "an id of letters, digits and '._-', at most 40 characters, that begins with a letter or digit, such "
        "as 'KAFKA-19446'"
    ),
    r"^\$": "a JSON path, which begins with '$', such as '$.id' or '$.order.id'",
    r"^\w+:.+$": "a principal with its type, such as 'User:alice'",
    r"^[\w=+.-]+$": (
        "the name of a file without a folder, of letters, digits and '_=+.-', such as 'input.jsonl'"
    ),
    r"^[\w=+.-]+(/[\w=+.-]+)*$": "a path below the folder, without '..' and blanks, such as 'output/table'",
    r"^http://[^\s]+$": (
        "an address that begins with http://, without blanks, such as 'http://127.0.0.1:8080/orders'"
    ),
    r"^(\d+(?:\.\d+)?) ?(kbit|mbit)$": "a rate in kbit or mbit (a second), such as '512 kbit' or '1.5mbit'",
    r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$": "a module and a function in it, such as 'my.module:my_function'",
    r"^[\w.]+:\w+$": "a module and a function in it, such as 'my.module:my_function'",
    r"^\d+\.\d+-IV\d+$": "a metadata.version with its number, such as '4.0-IV3'",
    r"^\d{1,3}(\.\d{1,3}){3}$": "an IPv4 address, such as '192.0.2.1'",
    r"^\d+\.\d+\.\d+$": "a version of three numbers, such as '4.0.0'",
    r"^(\d+(\.\d+){1,2})?$": "a version of two or three numbers, such as '4.0' or '4.0.1', or nothing",
}
"""By the pattern."""


def pattern_words(pattern: str) -> str:
    """What a text of this pattern is; a pattern without words is shown as it is."""
    return WORDS.get(pattern, f"a text of the form {pattern}")
