"""Where Sail is known to answer a query otherwise than Apache Spark, found in the query's text.

docs/explanation/engines.md has the table; a test asks both engines every example of it, so that a new version
of either that answers otherwise is noticed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

SAIL, SPARK = "0.7.2", "4.2.1"
"""The versions that the table was measured with."""

_TOKEN = re.compile(
    r"--[^\n]*|/\*.*?\*/"
    r"|r?'(?:[^'\\]|\\.|'')*'"
    r'|r?"(?:[^"\\]|\\.|"")*"'
    r"|`(?:[^`]|``)*`|\w+|\S",
    re.DOTALL | re.IGNORECASE,
)
_ORDERED = {"min", "max", "min_by", "max_by", "array_min", "array_max", "greatest", "least"}
_COMPOSITE = {"struct", "named_struct", "array", "collect_list", "collect_set"}
_EXACT = {"decimal", "double", "float", "numeric", "real"}
_PATTERNS = {"rlike", "regexp", "regexp_like", "regexp_extract", "regexp_extract_all", "regexp_replace"}
_PATTERNS |= {"regexp_count", "regexp_instr", "regexp_substr", "split"}

Tokens = Sequence[str]


def tokens_of(query: str) -> list[str]:
    """The words in lower case, texts as they are, and other characters one by one, without comments."""
    tokens = (match[0] for match in _TOKEN.finditer(query))
    kept = (token for token in tokens if not token.startswith(("--", "/*")))
    return [token if token[-1] in "'\"`" else token.lower() for token in kept]


def _is_text(token: str) -> bool:
    return len(token) > 1 and token[-1] in "'\""


def _calls(tokens: Tokens, names: set[str]) -> Iterator[Tokens]:
    """The tokens between the brackets of each call of one of these functions."""
    for at, name in enumerate(tokens[:-1]):
        if name not in names or tokens[at + 1] != "(":
            continue
        depth, end = 0, at + 1
        for end in range(at + 1, len(tokens)):
            depth += {"(": 1, ")": -1}.get(tokens[end], 0)
            if depth == 0:
                break
        yield tokens[at + 2 : end]


def _has_doubled_quote(tokens: Tokens) -> bool:
    return any(_is_text(token) and token[-1] * 2 in token.lstrip("rR")[1:-1] for token in tokens)


def _calls_one_of(*names: str) -> Callable[[Tokens], bool]:
    return lambda tokens: any(True for _ in _calls(tokens, set(names)))


def _adds_whole_numbers(tokens: Tokens) -> bool:
    return any(_EXACT.isdisjoint(inside) for inside in _calls(tokens, {"sum"}))


def _orders_structs(tokens: Tokens) -> bool:
    return any(not _COMPOSITE.isdisjoint(inside) for inside in _calls(tokens, _ORDERED))


def _can_fail_in_a_condition(tokens: Tokens) -> bool:
    """A cast or a division in a condition of several parts."""
    begin = next((at for at, token in enumerate(tokens) if token in ("where", "having", "on")), len(tokens))
    after = tokens[begin:]
    casts = (":", ":") in pairwise(after)
    return "and" in after and (casts or not {"cast", "/", "%", "div"}.isdisjoint(after))


def _counts_units(tokens: Tokens) -> bool:
    """A difference with a unit before the two times."""
    calls = _calls(tokens, {"datediff", "date_diff", "timestampdiff"})
    return any(inside.count(",") > 1 and inside[1] == "," for inside in calls)


def _reads_files(tokens: Tokens) -> bool:
    return any(token == "parquet" and then == "." for token, then in pairwise(tokens))


def _uses_special_patterns(tokens: Tokens) -> bool:
    special = re.compile(r"\(\?[=!<]|\\[dwsb1-9]|[*+?}]\+")
    return not _PATTERNS.isdisjoint(tokens) and any(
        _is_text(token) and special.search(token) for token in tokens
    )


def _not_in_the_text(_: Tokens) -> bool:
    """It depends on the values, and most queries of this form meet none."""
    return False


@dataclass(frozen=True)
class Difference:
    """One way in which Sail answers otherwise.

    `found` says whether the tokens of a query may meet it, `what` what Sail does, `instead` what to write.
    `example` is a query, `sail` and `spark` are the answers to it, `same` is one as in `instead`, which both
    answer alike.
    """

    found: Callable[[Tokens], bool]
    what: str
    instead: str
    example: str
    sail: str
    spark: str
    same: str

    def row(self) -> str:
        """Its row of the table on the page."""
        note = "" if self.found is not _not_in_the_text else "; not told"
        return f"| {self.what}{note} | `{self.example}` | {self.spark} | {self.sail} | `{self.same}` |"


DIFFERENCES: tuple[Difference, ...] = (
    Difference(
        _has_doubled_quote,
        "a quote that is written twice in a text is left out",
        "put the text between the other quotes, or write \\' for it",
        "select 'it''s'",
        "its",
        "it's",
        'select "it\'s"',
    ),
    Difference(
        _adds_whole_numbers,
        "a sum of whole numbers above 2^63 begins again at -2^63",
        "add up cast(x as decimal(38, 0)), or cast(x as double)",
        "select sum(n) from values (9223372036854775807), (1) t(n)",
        "-9223372036854775808",
        "an error",
        "select sum(cast(n as decimal(38, 0))) from values (9223372036854775807), (1) t(n)",
    ),
    Difference(
        _not_in_the_text,
        "so do +, - and * of whole numbers",
        "calculate with cast(x as decimal(38, 0))",
        "select n + 1 from values (9223372036854775807) t(n)",
        "-9223372036854775808",
        "an error",
        "select cast(n as decimal(38, 0)) + 1 from values (9223372036854775807) t(n)",
    ),
    Difference(
        _orders_structs,
        "min, max, min_by and max_by of structs and arrays take null for the greatest value",
        "write `order by a desc nulls last limit 1`, or rank the rows in a window",
        "select max(struct(a, b)).a from values (1, 1), (null, 2) t(a, b)",
        "null",
        "1",
        "select a from values (1, 1), (null, 2) t(a, b) order by a desc nulls last limit 1",
    ),
    Difference(
        _can_fail_in_a_condition,
        "a condition does not keep those after it from failing",
        "write try_cast(x as int), try_divide(x, y) or CASE WHEN",
        "select count(*) from values ('x'), ('5') t(v) where v rlike '^[0-9]+$' and cast(v as int) = 5",
        "an error",
        "1",
        "select count(*) from values ('x'), ('5') t(v) where v rlike '^[0-9]+$' and try_cast(v as int) = 5",
    ),
    Difference(
        _can_fail_in_a_condition,
        "a condition does not keep those after it from failing",
        "write try_cast(x as int), try_divide(x, y) or CASE WHEN",
        "select count(*) from values (0), (5) t(v) where v <> 0 and 10 / v = 2",
        "an error",
        "1",
        "select count(*) from values (0), (5) t(v) where v <> 0 and try_divide(10, v) = 2",
    ),
    Difference(
        _calls_one_of("percentile_approx", "approx_percentile"),
        "approximate percentiles are values between those of the rows",
        "write percentile(x, 0.99), which is exact on both engines",
        "select percentile_approx(x, 0.75) from values (1), (2), (3), (10) t(x)",
        "6.5",
        "3",
        "select percentile(x, 0.75) from values (1), (2), (3), (10) t(x)",
    ),
    Difference(
        _calls_one_of("weekday"),
        "weekday of a Sunday is -1",
        "write (dayofweek(x) + 5) % 7",
        "select weekday(date'2026-11-29')",
        "-1",
        "6",
        "select (dayofweek(date'2026-11-29') + 5) % 7",
    ),
    Difference(
        _counts_units,
        "datediff and timestampdiff with a unit count its borders, not whole units",
        "divide the difference of unix_millis by the unit",
        "select datediff(day, timestamp'2026-11-28 23:00:00', timestamp'2026-11-29 01:00:00')",
        "1",
        "0",
        "select (unix_millis(timestamp'2026-11-29 01:00:00') - unix_millis(timestamp'2026-11-28 23:00:00')) "
        "div 86400000",
    ),
    Difference(
        _calls_one_of("array_contains"),
        "array_contains is false, not null, where the value may be the null of the array",
        "write coalesce(array_contains(x, y), false)",
        "select array_contains(array(1, null), 2)",
        "false",
        "null",
        "select coalesce(array_contains(array(1, null), 2), false)",
    ),
    Difference(
        _calls_one_of("timestamp_seconds"),
        "timestamp_seconds leaves out fractions",
        "write timestamp_millis(x * 1000)",
        "select unix_millis(timestamp_seconds(1.5))",
        "1000",
        "1500",
        "select unix_millis(timestamp_millis(1500))",
    ),
    Difference(
        _uses_special_patterns,
        "regular expressions are those of Rust: no look-ahead and no back reference, \\d, \\w and \\s are of "
        "all scripts, and $ does not stand before a line break at the end",
        "write character classes such as [0-9], and no look-ahead",
        "select 'ab' rlike '^a(?=b)'",
        "an error",
        "true",
        "select 'ab' rlike '^ab'",
    ),
    Difference(
        _calls_one_of("base64"),
        "base64 has no line breaks",
        "write replace(base64(x), '\\r\\n', '')",
        "select length(base64(repeat('x', 60)))",
        "80",
        "82",
        "select length(replace(base64(repeat('x', 60)), '\\r\\n', ''))",
    ),
    Difference(
        _not_in_the_text,
        "0.0 and -0.0 are two groups of a window",
        "write partition by x + 0.0D",
        "select count(*) over (partition by x) from values (0.0D), (-0.0D) t(x) limit 1",
        "1",
        "2",
        "select count(*) over (partition by x + 0.0D) from values (0.0D), (-0.0D) t(x) limit 1",
    ),
    Difference(
        _not_in_the_text,
        "halves of fractions are rounded by their binary value",
        "round cast(x as decimal(18, 6))",
        "select round(1.005D, 2)",
        "1.0",
        "1.01",
        "select round(cast(1.005D as decimal(18, 6)), 2)",
    ),
    Difference(
        _not_in_the_text,
        "large fractions are written out as texts",
        "format_number(x, 0), or a cast to decimal",
        "select cast(1e7D as string)",
        "10000000.0",
        "1.0E7",
        "select format_number(1e7D, 0)",
    ),
)


NAN_IN_FILES = Difference(
    _reads_files,
    "a column of fractions in a Parquet file of your own, such as [NaN, 5.5, 5.5], may be read as 5.5 in "
    "every row",
    "ask Apache Spark (--engine spark)",
    "select * from parquet.`file`",
    "5.5, 5.5, 5.5",
    "NaN, 5.5, 5.5",
    "select * from parquet.`file`",
)
"""Its test writes the file. No journal of a run has fractions."""


def differences_in(query: str) -> list[str]:
    """What Sail may answer otherwise in a query, and what to write instead; a sentence each."""
    tokens = tokens_of(query)
    sentences = [
        f"{difference.what}: {difference.instead}"
        for difference in (*DIFFERENCES, NAN_IN_FILES)
        if difference.found(tokens)
    ]
    return list(dict.fromkeys(sentences))
