"""Faults out of resources of Chaos Mesh (chaos-mesh.org/v1alpha1) and of Litmus (litmuschaos.io/v1alpha1).

Sources: the types of Chaos Mesh (api/v1alpha1 of its repository), and Litmus's charts with their defaults.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from harness.interop.conversion.draft import Draft, Fields, Target, items, mapping, table

_ROUNDS = 3
_MOST_ROUNDS = 100


def chaos_mesh(draft: Draft, resource: Fields) -> None:
    """Add the fault of a resource of Chaos Mesh.

    Raises:
        BadInput: it has no equal.
    """
    kind, spec = str(resource.get("kind")), mapping(resource.get("spec"))
    # Before 2.0 a schedule stood in the resource itself.
    schedule = mapping(spec.get("scheduler")).get("cron")
    if kind == "Schedule":
        schedule, kind = spec.get("schedule"), str(spec.get("type"))
        spec = next((mapping(one) for key, one in spec.items() if str(key).lower() == kind.lower()), {})
    action = str(spec.get("action") or "")
    if kind == "StressChaos":
        action = "cpu" if "cpu" in mapping(spec.get("stressors")) else "memory"
    elif action == "fault":
        action = f"fault {spec.get('errno')}"
    act = table("Chaos Mesh").get(kind, {}).get(action)
    if act is None:
        raise draft.refused(f"the action {action!r} of {kind}" if action else kind)
    if act == "kill" and draft.number(spec.get("gracePeriod")) > 0:
        act = "stop"
    # A pod that was killed is replaced, whatever the duration is.
    known = bool(spec.get("duration")) and act not in ("kill", "stop")
    lasting = draft.seconds(spec.get("duration"), 0.0) if known else None
    target = _selected(draft, spec)
    if act == "network":
        _network_chaos(draft, spec, action, target, lasting)
    else:
        seconds = draft.seconds(spec.get("timeOffset"), 0.0)
        iops = max(1, round(1 / max(draft.seconds(spec.get("delay"), 0.01), 1e-6)))
        draft.add(act, target, {"seconds": seconds, "iops": iops}, lasting)
    text = str(schedule or "").strip()
    if text.startswith("@every "):
        draft.note(f"the fault happens {_ROUNDS} times, and not until its schedule is deleted")
        draft.repeat(draft.entries[-1], max(2.0, draft.seconds(text[7:], 60.0)), _ROUNDS)
    elif text:
        draft.note(f"the schedule {text!r} names times of day: the fault happens once (`every` repeats it)")


def _network_chaos(draft: Draft, spec: Fields, action: str, target: Target, lasting: float | None) -> None:
    names = ("delay", "loss", "duplicate", "corrupt", "bandwidth")
    found = {name: mapping(spec.get(name)) for name in names if action in (name, "netem")}
    delay, rate = found.get("delay", {}), found.get("bandwidth") or mapping(spec.get("rate"))
    reorder = mapping(delay.get("reorder"))
    values: dict[str, Any] = {name: draft.number(one.get(name)) for name, one in found.items()}
    values["delay"] = round(1000 * draft.seconds(delay.get("latency"), 0.0), 6)
    values["jitter"] = round(1000 * draft.seconds(delay.get("jitter"), 0.0), 6)
    values["reorder"] = draft.number(reorder.get("reorder"))
    values["rate"] = draft.rate(rate["rate"]) if rate.get("rate") else None
    values["partition"] = action == "partition"
    if any(draft.number(one.get("correlation")) for one in (*found.values(), reorder)):
        draft.note("`correlation` is left out: what becomes of a packet does not depend on the one before")
    if spec.get("externalTargets"):
        draft.note("`externalTargets` are left out: there is nothing outside the cluster but its clients")
    to = _selected(draft, mapping(spec["target"])) if spec.get("target") else None
    if to == target and isinstance(to, Mapping) and "random" in to:
        draft.note(
            "one side is the leader of partition 0, the other a follower: draws could be the same broker"
        )
        target, to = {"leader": 0}, {"some": {"of": {"followers": 0}, "count": 1}}
    draft.network(target, to, str(spec.get("direction") or "to"), values, lasting)


def litmus(draft: Draft, resource: Fields) -> None:
    """Add the faults of a ChaosEngine or ChaosSchedule of Litmus, one after the other.

    Raises:
        BadInput: an experiment of it has no equal.
    """
    spec = mapping(resource.get("spec"))
    if "engineTemplateSpec" in spec:
        draft.note("the schedule is left out: the experiments are run once")
        spec = mapping(spec["engineTemplateSpec"])
    experiments = [mapping(one) for one in items(spec.get("experiments"))]
    for experiment in experiments:
        env = items(mapping(mapping(experiment.get("spec")).get("components")).get("env"))
        pairs = {str(mapping(one).get("name")): str(mapping(one).get("value") or "").strip() for one in env}
        row = table("Litmus").get(str(experiment.get("name")))
        if row is None:
            raise draft.refused(f"the experiment {experiment.get('name')}")
        _litmus_experiment(draft, row, pairs, spec.get("appinfo") or spec.get("selectors"))
    if not experiments:
        raise draft.refused("no `experiments`")


def _litmus_experiment(draft: Draft, row: Fields, env: Mapping[str, str], app: Any) -> None:
    total = draft.seconds(env.get("TOTAL_CHAOS_DURATION"), 60.0)
    pods = env.get("TARGET_PODS") or env.get("KAFKA_BROKER") or ""
    share = draft.number(env.get("PODS_AFFECTED_PERC"))
    selector = {"app": app, "label": env.get("KAFKA_LABEL"), "pods": {"": pods.split(",")}}
    mode = {"mode": "fixed-percent", "value": share} if share else {"mode": "one"}
    target = _selected(draft, {"selector": selector, **({"mode": "all"} if pods else mode)})
    if row["act"] == "network":
        values: dict[str, Any] = {}
        for key, (variable, default) in ((key, one) for key, one in row.items() if key != "act"):
            text = env.get(variable) or default
            values[key] = draft.rate(text) if key == "rate" else key == "partition" or draft.number(text)
        if env.get("DESTINATION_IPS") or env.get("DESTINATION_HOSTS"):
            draft.note("destinations are left out: all packets of the broker are affected")
        draft.network(target, None, "both" if "partition" in values else "to", values, total)
    elif row["act"] == "kill":
        # Without FORCE a pod is deleted with its grace period.
        gentle = env.get("FORCE", "").lower() == "false" or env.get("SIGNAL") == "SIGTERM"
        every = max(2.0, draft.seconds(env.get("CHAOS_INTERVAL"), 10.0))
        entry = draft.add("stop" if gentle else "kill", target, {}, None)
        if total >= 2 * every:
            draft.repeat(entry, every, min(int(total // every), _MOST_ROUNDS))
    else:
        draft.add(row["act"], target, {}, total)


def _selected(draft: Draft, spec: Fields) -> Target:
    """The target of a selector of pods with its mode."""
    selector = mapping(spec.get("selector"))
    text = json.dumps(selector, default=str, skipkeys=True).lower()
    if "controller" in text or "zookeeper" in text:
        draft.note("pods of controllers (or of ZooKeeper) become all controllers of the cluster")
        return "controllers"
    if not re.search("kafka|broker|strimzi", text):
        draft.note("nothing in the selector says that its pods are brokers of Kafka: brokers are meant here")
    names = [str(name) for one in mapping(selector.get("pods")).values() for name in items(one)]
    names.append(str(mapping(selector.get("labelSelectors")).get("statefulset.kubernetes.io/pod-name")))
    numbers = [int(found[1]) + 1 for name in names if (found := re.search(r"(\d{1,9})\s*$", name))]
    mode, value = spec.get("mode"), draft.number(spec.get("value"))
    if numbers:
        draft.note("pods are brokers by their numbers: pod 0 is broker 1 here, and so on")
        chosen = draft.brokers(numbers)
        return {"some": {"of": chosen, "count": 1}} if mode == "one" and "nodes" in chosen else chosen
    if mode in ("fixed-percent", "random-max-percent"):
        count = min(3, max(1, int(3 * value / 100)))
        most = "up to " if mode == "random-max-percent" else ""
        draft.note(f"{most}{value:g} % of the pods are {count} of 3 brokers")
        return {"random": count}
    return {"all": True} if mode == "all" else draft.any_brokers(max(1, int(value)))
