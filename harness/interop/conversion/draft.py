"""An experiment in the making: what a file of another tool does, and what of it is not the same here."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

import yaml

from faults.shared.fault_spec import KINDS
from harness.model.errors import BadInput

PAGE = "docs/how-to/convert.md"
_GAP_SECONDS = 5.0
_GREATEST = 1e9
_MOST_BROKERS = 20
_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = r"(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)"
_RATE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(bit|bps)", re.IGNORECASE)
_KBIT = {"": 1e-3, "k": 1.0, "m": 1e3, "g": 1e6, "t": 1e9}
_SHAPED = ("reorder", "jitter", "delay", "loss", "duplicate", "corrupt", "rate")

Fields = Mapping[str, Any]
Target = dict[str, Any] | str
_EVERYTHING: Target = {"any": [{"all": True}, "controllers", "client"]}


@cache
def table(name: str) -> dict[str, Any]:
    """A part of faults.yaml."""
    return dict(yaml.safe_load((resources.files(__package__) / "faults.yaml").read_text())[name])


def mapping(value: Any) -> Fields:
    """A mapping, or an empty one in place of anything else."""
    return value if isinstance(value, Mapping) else {}


def items(value: Any) -> list[Any]:
    """A list, or an empty one in place of anything else."""
    return value if isinstance(value, list) else []


@dataclass
class Draft:
    """`what` is the `file` in words. `clock` is when the next fault begins, in seconds after the write step
    began. `notes` say what is not the same, a sentence each."""

    file: str
    what: str
    name: str
    entries: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    cluster: dict[str, Any] = field(default_factory=lambda: {"brokers": 3})
    clock: float = 2.0
    end: float = 0.0

    def note(self, text: str) -> None:
        """Say once what is not the same."""
        if text not in self.notes:
            self.notes.append(text)

    def refused(self, found: str) -> BadInput:
        """The error that the file has no equal."""
        where, step = f"{self.file}, {self.what}", f"{PAGE} says what can take its place"
        return BadInput("this cannot be converted", where=where, found=found, next_step=step)

    def add(
        self, act: str, target: Target, values: Fields, lasting: float | None, to: Target | None = None
    ) -> dict[str, Any]:
        """Add what an act of faults.yaml does at `clock`, and move the clock behind it; returns the entry.
        `lasting` is in seconds (None: not known)."""
        row = table("acts")[act]
        kind, sides = row["fault"], row.get("sides", ("target", "to"))
        fields = {name: side for name, side in zip(sides, (target, to), strict=True) if side is not None}
        fields |= row.get("with", {})
        for name, key in row.get("from", {}).items():
            if values.get(key):
                fields[name] = self._at_most(kind, name, values[key])
        self.cluster |= row.get("cluster", {})
        if "note" in row:
            self.note(row["note"])
        seconds = max(1.0, row.get("lasts", 30.0) if lasting is None else lasting)
        if lasting is None:
            self.note(f"`{kind}` lasts {seconds:g} s: the file does not say when it ends")
        entry = {"fault": {kind: fields}, "at": round(self.clock, 3), "for": round(seconds, 3)}
        self.entries.append(entry)
        self.end = max(self.end, self.clock + seconds)
        self.clock = self.end + _GAP_SECONDS
        return entry

    def repeat(self, entry: dict[str, Any], every: float, times: int) -> None:
        """Have the last entry happen several times."""
        if entry["for"] >= every:
            entry["for"] = every / 2
            self.note(f"each fault lasts {every / 2:g} s: it has to end before the next one begins")
        entry |= {"every": every, "from": entry.pop("at"), "times": times}
        self.end = entry["from"] + (times - 1) * every + entry["for"]
        self.clock = self.end + _GAP_SECONDS

    def network(
        self, target: Target, to: Target | None, direction: str, values: Fields, lasting: float | None
    ) -> None:
        """Add the fault on the packets between two targets (`to` None: the target and everything else).

        `direction` is Chaos Mesh's: packets that the target sends (to), gets (from), or both. `values` has
        `partition`, or percentages, `delay` and `jitter` in ms, and `rate`.
        """
        if values.get("partition") or (values.get("loss") or 0) > 99.5:
            lost = {"to": "from_to", "from": "to_from"}.get(direction)
            self.add("partition", target, {"lost": lost}, lasting, _EVERYTHING if to is None else to)
            return
        given = [act for act in _SHAPED if values.get(act)]
        if not given or (direction != "to" and to is None):
            raise self.refused(f"no values, or no target of the direction {direction!r}")
        implied = {"jitter", "delay"} if given[0] in ("reorder", "jitter") else set()
        if left_out := sorted(set(given[1:]) - implied):
            self.note(f"{', '.join(left_out)} is left out: the file becomes one fault")
        if direction == "both":
            self.note("only the packets that the first side sends are affected, not those of both")
        sender, receiver = (to or target, target) if direction == "from" else (target, to)
        self.add(given[0], sender, values, lasting, receiver)

    def brokers(self, numbers: list[int]) -> Target:
        """The target of these brokers, from 1; the cluster gets as many as they need."""
        ids = sorted(set(numbers))
        if not ids or ids[0] < 1 or ids[-1] > _MOST_BROKERS:
            raise self.refused(f"brokers {ids}: a cluster has 1 to {_MOST_BROKERS} here")
        self.cluster["brokers"] = max(self.cluster["brokers"], ids[-1])
        return {"broker": ids[0]} if len(ids) == 1 else {"nodes": ids}

    def any_brokers(self, count: int) -> Target:
        """The target of as many brokers, whichever."""
        self.brokers([count])
        return {"random": count}

    def seconds(self, value: Any, default: float) -> float:
        """A duration: Go's ("1m30s"), or a number of seconds; `default` without one."""
        text = str("" if value is None else value).strip()
        if re.fullmatch(rf"[+-]?(?:{_PART})+", text):
            total = self.number(sum(float(number) * _UNITS[unit] for number, unit in re.findall(_PART, text)))
            return round(-total if text.startswith("-") else total, 9)
        return self.number(text or default)

    def number(self, value: Any) -> float:
        """A number, or the text of one; 0 for none."""
        try:
            found = float(str(value or 0).strip().removesuffix("%"))
        except ValueError:
            found = math.nan
        if not abs(found) <= _GREATEST:
            raise self.refused(f"{str(value)[:60]!r} in place of a number")
        return found

    def rate(self, value: Any) -> str:
        """A rate as our fault writes it: Chaos Mesh's `bps` are bytes per second, tc's `bit` are bits."""
        found = _RATE.fullmatch(str(value)[:60].strip())
        if found is None:
            raise self.refused(f"the rate {str(value)[:60]!r}")
        kbit = float(found[1]) * _KBIT[found[2].lower()] * (8 if found[3].lower() == "bps" else 1)
        if (allowed := min(max(kbit, 64.0), 50_000.0)) != kbit:
            self.note(f"the rate is {allowed:g} kbit/s instead of {kbit:g}")
        return f"{allowed:g}kbit"

    def _at_most(self, kind: str, name: str, value: Any) -> Any:
        """The value, or the greatest that our fault allows."""
        limits = KINDS[kind].model_fields[name].metadata
        most = min((one.le for one in limits if hasattr(one, "le")), default=math.inf)
        if not isinstance(value, float) or value <= most:
            return value
        self.note(f"`{name}` of `{kind}` is {most:g} instead of {value:g}, the greatest value here")
        return most

    def text(self) -> str:
        """The experiment as a file, with the notes as comments."""
        head = [f"Made by `kafka-chaos convert` of {self.file}, {self.what}."]
        if self.notes:
            head += ["What is not the same:", *(f"- {note}" for note in self.notes)]
        name = re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")[:60] or "converted"
        data = {"name": name, "title": self.name, **table("experiment")}
        data["cluster"] = data["cluster"] | self.cluster
        faults = json.loads(
            json.dumps(self.entries)
        )  # Copies: of what is there twice YAML would make anchors.
        write = {"name": "steady", "seconds": math.ceil(self.end + _GAP_SECONDS), "faults": faults}
        data["steps"] = [{"write": write}]
        body = yaml.safe_dump(data, sort_keys=False, width=100, allow_unicode=True, default_flow_style=None)
        return "".join(f"# {' '.join(line.split())}\n" for line in head) + body
