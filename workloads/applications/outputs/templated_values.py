"""JSON values that a template of the experiment made, recognised by themselves.

An application that passes a value on drops its headers as often as not, and may write the document anew, with
other white space. What the template says of `$seq` is still there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from workloads.applications.outputs.named_inputs import InputNumbers, JsonStep, at_path
from workloads.records.config.payload_spec import PLACEHOLDER
from workloads.records.config.workload_spec import WorkloadSpec
from workloads.records.producer.payloads import filled, json_bytes
from workloads.records.record.identity import HEAD, MAGIC, PREFIX

_FORMS = {"seq": r"\d+", "producer": r"\d+", "key": r"\d+|None", "identity": rf"[0-9a-f]{{{2 * PREFIX}}}"}

InputOf = Callable[[bytes | None, int], InputNumbers | None]
"""The input of the run with this id of which a value is; None: it is not the value of one."""


def input_by_template(workload: WorkloadSpec) -> InputOf | None:
    """What recognises values of the workload's JSON template; None: it has none, or its values do not tell
    the number of their record (and, with several producers, its producer) apart."""
    if workload.payload is None or workload.payload.json_ is None:
        return None
    template = json.loads(json_bytes(workload.payload.json_))
    places = {
        name: next(
            ((path, pattern) for path, text in _texts(template, ()) if (pattern := _pattern(text, name))),
            None,
        )
        for name in ("identity", "seq", "producer")
    }
    if places["identity"] is None and (
        places["seq"] is None or (places["producer"] is None and workload.producers > 1)
    ):
        return None

    def input_of(value: bytes | None, run: int) -> InputNumbers | None:
        try:
            document = json.loads(value or b"")
            texts = {name: _at(document, *where) for name, where in places.items() if where is not None}
            if "identity" in texts:
                magic, of_run, producer, seq = HEAD.unpack(bytes.fromhex(texts["identity"])[: HEAD.size])
                if (magic, of_run) != (MAGIC, run):
                    return None
            else:
                producer, seq = int(texts.get("producer", 0)), int(texts["seq"])
        except (ValueError, LookupError, RecursionError):
            return None  # It is no JSON, or not of this form.
        key = None if workload.keys is None else seq % workload.keys
        names = {"seq": seq, "producer": producer, "key": key, "identity": texts.get("identity")}
        same = document == filled(template, names) and producer < workload.producers and seq < 2**63
        return InputNumbers(producer, seq) if same else None

    return input_of


def _at(document: Any, path: tuple[JsonStep, ...], pattern: re.Pattern[str]) -> str:
    """What stands in a document for the placeholder of which these are the place. Raises LookupError: the
    document has another form."""
    value = at_path(document, path)
    match = pattern.fullmatch(str(value)) if type(value) in (int, str) else None
    if match is None:
        raise LookupError("it has another form")
    return match["it"]


def _texts(template: Any, path: tuple[JsonStep, ...]) -> Iterator[tuple[tuple[JsonStep, ...], str]]:
    if isinstance(template, str):
        yield path, template
    elif isinstance(template, dict | list):
        steps = template.items() if isinstance(template, dict) else enumerate(template)
        for step, value in steps:
            yield from _texts(value, (*path, step))


def _pattern(text: str, name: str) -> re.Pattern[str] | None:
    """Matches texts that were made of this one, with `$name` as the group `it`; None: it does not stand
    there, or a digit or nothing stands between two numbers, so that one cannot tell where they end."""
    pieces, end, number_before, grouped = [], 0, False, False
    for match in PLACEHOLDER.finditer(text):
        literal = text[end : match.start()]
        pieces.append(re.escape(literal))
        number_before &= not re.search(r"\D", literal)
        end = match.end()
        if match[1] == "$":
            pieces.append(r"\$")
            number_before = False
            continue
        if number_before:
            return None
        group = "?P<it>" if match[1] == name and not grouped else "?:"
        grouped |= match[1] == name
        pieces.append(f"({group}{_FORMS[match[1]]})")
        number_before = True
    return re.compile("".join(pieces) + re.escape(text[end:])) if grouped else None
