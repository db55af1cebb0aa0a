"""JSON values that a template of the experiment made, recognised by themselves.

An application that passes a value on drops its headers as often as not, and may write the document anew, with
other white space. What the template says of `$seq` is still there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from workloads.config.payload_spec import PLACEHOLDER
from workloads.config.workload_spec import WorkloadSpec
from workloads.outputs.named_inputs import JsonStep, Numbers, at_path
from workloads.producer.payloads import filled, json_bytes
from workloads.record.identity import HEAD, MAGIC, PREFIX

_FORMS = {"seq": r"\d+", "producer": r"\d+", "key": r"\d+|None", "identity": rf"[0-9a-f]{{{2 * PREFIX}}}"}
_DOLLAR = re.escape("$")

InputOf = Callable[[bytes | None, int], Numbers | None]
"""The input of the run with this id of which a value is; None: it is not the value of one."""


def input_by_template(workload: WorkloadSpec) -> InputOf | None:
    """What recognises values of the workload's JSON template; None: it has none, or its values do not tell
    the number of their record (and, with several producers, its producer) apart."""
    if workload.payload is None or workload.payload.json_ is None:
        return None
    template = json.loads(json_bytes(workload.payload.json_))
    identity = _where(template, "identity")
    seq, producer = _where(template, "seq"), _where(template, "producer")
    if identity is None and (seq is None or (producer is None and workload.producers > 1)):
        return None

    def input_of(value: bytes | None, run: int) -> Numbers | None:
        try:
            document = json.loads(value or b"")
            if identity is not None:
                text = identity(document)
                magic, of_run, number, at = HEAD.unpack(bytes.fromhex(text)[: HEAD.size])
                if (magic, of_run) != (MAGIC, run):
                    return None
            else:
                assert seq is not None
                text, at = "", int(seq(document))
                number = 0 if producer is None else int(producer(document))
        except (ValueError, LookupError, RecursionError):
            return None  # It is no JSON, or not of this form.
        key = None if workload.keys is None else at % workload.keys
        names = {"seq": at, "producer": number, "key": key, "identity": text}
        same = document == filled(template, names)
        return Numbers(number, at) if same and number < workload.producers and at < 2**63 else None

    return input_of


def _where(template: Any, name: str) -> Callable[[Any], str] | None:
    """What finds the text that stands for `$name` in a document of the template; None: nothing tells it. The
    function raises `LookupError` if the document has another form."""
    places = ((path, _pattern(text, name)) for path, text in _texts(template, ()))
    place, pattern = next((one for one in places if one[1] is not None), ((), None))
    if pattern is None:
        return None

    def found(document: Any) -> str:
        told = at_path(document, place)
        match = pattern.fullmatch(str(told)) if type(told) in (int, str) else None
        if match is None:
            raise LookupError("it has another form")
        return match["it"]

    return found


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
    pieces, end, number_before, told = [], 0, False, False
    for found in PLACEHOLDER.finditer(text):
        literal = text[end : found.start()]
        pieces.append(re.escape(literal))
        number_before &= not re.search(r"\D", literal)
        end = found.end()
        if found[1] == "$":
            pieces.append(_DOLLAR)
            number_before = False
            continue
        if number_before:
            return None
        group = "?P<it>" if found[1] == name and not told else "?:"
        told |= found[1] == name
        pieces.append(f"({group}{_FORMS[found[1]]})")
        number_before = True
    return re.compile("".join(pieces) + re.escape(text[end:])) if told else None
