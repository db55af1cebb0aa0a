"""Faults out of tasks of Kafka's Trogdor, and of experiments of the Chaos Toolkit.

Sources: Trogdor's fault specifications and workers (trogdor/ of Kafka's repository), the specification of
experiments of the Chaos Toolkit, chaostoolkit-kubernetes and -kafka.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from math import isqrt
from typing import Any

from harness.interop.conversion.draft import Draft, Fields, Target, items, mapping

_DOWN_SECONDS = 5.0
_ACTS = {"kill": "kill", "stop": "stop", "pause": "pause", "restart": "restart", "delete": "stop"}
_VERB = re.compile(r"\b(kill|stop|pause|restart|delete|unpause|start)\b")
_DRIVER_ACTIONS = ("reboot_msk_broker", "reboot_broker", "terminate_pods", "delete_pods")
_AT_ONCE = re.compile(r"--grace-period[= ]0|--force|(?<!\S)-9\b|KILL\b")


def trogdor(draft: Draft, task: Fields) -> None:
    """Add the faults of a task of Trogdor.

    Raises:
        BadInput: it has no equal.
    """
    kind = str(task.get("class")).rpartition(".")[2]
    sets = [[str(name) for name in items(one)] for one in items(task.get("partitions")) if items(one)]
    specs = {str(name): mapping(one) for name, one in mapping(task.get("nodeSpecs")).items()}
    names = [*itertools.chain(*sets), *map(str, items(task.get("nodeNames"))), *specs]
    # In the order of the numbers in their names.
    ordered = sorted(set(names), key=lambda name: ([int(one[:9]) for one in re.findall(r"\d+", name)], name))
    brokers = {name: number for number, name in enumerate(ordered, 1)}
    lasting = draft.number(task.get("durationMs") or 30_000) / 1000
    begin = draft.clock
    if kind == "ProcessStopFaultSpec" and names:
        draft.add("pause", draft.brokers([*brokers.values()]), {}, lasting)
    elif kind == "NetworkPartitionFaultSpec" and len(sets) > 1:
        draft.note("controllers are nodes of their own, and reach all brokers")
        sides = [draft.brokers([brokers[name] for name in one]) for one in sets]
        for one, other in itertools.combinations(sides, 2):
            draft.clock = begin
            draft.add("partition", one, {}, lasting, other)
    elif kind == "DegradedNetworkFaultSpec" and specs:
        for name, spec in specs.items():
            delay, kbit = draft.number(spec.get("latencyMs")), draft.number(spec.get("rateLimitKbit"))
            # Trogdor gives its delay a deviation, the root of it.
            values: dict[str, Any] = {"delay": delay, "jitter": float(isqrt(int(abs(delay))))}
            values["rate"] = draft.rate(f"{kbit:.3f}kbit") if kbit else None
            draft.clock = begin
            draft.network(draft.brokers([brokers[name]]), None, "to", values, lasting)
    else:
        raise draft.refused(f"{kind} without nodes")
    draft.note(", ".join(f"{name} is broker {number}" for name, number in brokers.items()))
    draft.note("`startMs` is a time of day: the fault begins soon after the first record")


def chaos_toolkit(draft: Draft, experiment: Fields) -> None:
    """Add the faults of the actions of an experiment, at the times that its pauses give them.

    Raises:
        BadInput: it has no action that could be converted.
    """
    settings = mapping(experiment.get("configuration"))
    clock, opened = draft.clock, None
    for activity in map(mapping, (*items(experiment.get("method")), *items(experiment.get("rollbacks")))):
        pauses, provider = mapping(activity.get("pauses")), mapping(activity.get("provider"))
        draft.clock = clock = clock + draft.number(_filled(pauses.get("before"), settings))
        words = " ".join(
            map(str, (provider.get("path"), *_words(_filled(provider.get("arguments"), settings))))
        )
        verb = _VERB.search(words) if provider.get("type") == "process" else None
        if activity.get("type") != "action":
            draft.note("probes are left out: what becomes of the records is judged")
        elif verb is not None and verb[1] in _ACTS:
            number = re.search(r"[A-Za-z][\w-]*?(\d{1,9})\b", words[verb.end() :])
            first = 1 if "kubectl" in words else 0
            target: Target = {"random": 1} if number is None else draft.brokers([int(number[1]) + first])
            act = "kill" if _AT_ONCE.search(words) else _ACTS[verb[1]]
            opened = draft.add(act, target, {}, _DOWN_SECONDS)
        elif verb is not None and opened is not None:
            opened["for"] = max(1.0, round(clock - opened["at"], 3))
            draft.end, opened = max(draft.end, clock), None
        elif not _driver_action(draft, provider, settings):
            draft.note(f"the action {activity.get('name')!r} is left out: it is not known")
        clock += draft.number(_filled(pauses.get("after"), settings))
    if not draft.entries:
        raise draft.refused("no action on brokers that is known")
    draft.note(f"a fault that no later action ends lasts {_DOWN_SECONDS:g} s")


def _driver_action(draft: Draft, provider: Fields, settings: Fields) -> bool:
    """Add an action on pods (chaostoolkit-kubernetes) or a reboot of brokers (MSK); False: it is another."""
    function = str(provider.get("func"))
    if function not in _DRIVER_ACTIONS:
        return False
    values = {key: _filled(one, settings) for key, one in mapping(provider.get("arguments")).items()}
    if function.startswith("reboot"):
        ids = values.get("broker_ids") or 1
        numbers = [int(draft.number(one)) for one in items(ids) or [ids]]
        draft.add("restart", draft.brokers(numbers), {}, _DOWN_SECONDS)
    else:
        count = max(1, int(draft.number(values.get("qty") or 1)))
        if values.get("mode") == "percentage":
            count = max(1, min(3, 3 * count // 100))
        named = re.search(r"(\d{1,9})\W*$", str(values.get("name_pattern") or "").replace("[0-9]", ""))
        target: Target = {"all": True} if values.get("all") else draft.any_brokers(count)
        if named is not None:
            target = draft.brokers([int(named[1]) + 1])
        draft.add("kill" if str(values.get("grace_period")) == "0" else "stop", target, {}, _DOWN_SECONDS)
    return True


def _words(arguments: Any) -> list[Any]:
    """The words of a command's arguments, which are a text, a list, or a mapping of options."""
    if isinstance(arguments, Mapping):
        return [part for pair in arguments.items() for part in pair if part is not None]
    return items(arguments) or [arguments or ""]


def _filled(value: Any, settings: Fields) -> Any:
    """A value that is `${name}`: that of the configuration."""
    name = re.fullmatch(r"\$\{(\w+)\}", value) if isinstance(value, str) else None
    return value if name is None else settings.get(name[1], value)
