"""Proves that cuts lose packets, and that directions without a cut do not.

In the namespaces of all nodes at once a script counts, tries and counts again:

- It sends UDP packets to every node on the other side, for half a second. TCP could not show one direction:
  its connections fail when either is lost.
- At the end of the receiver's INPUT chain a rule without a target counts the packets that passed every DROP.
  The clients have no namespace of ours: packets to them are counted where they leave, and their packets are
  the harness's own requests.
- It tries a TCP connection to every node on the other side.

A cut is proved when its rule has dropped packets, none passed while the receiver listened, and no connection
can be opened. A direction that is not cut is proved when packets arrive.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from faults.network.links import Link
from faults.network.namespaces import IptablesRule, Placed, remove_script
from faults.shared.fault_spec import Evidence
from faults.shared.words import node_name, node_names
from harness.model.node_layout import CLIENT, CLIENT_PORT

_UDP_PORT = 9
"""discard: no process has to listen there."""
_BURSTS = 10
_COUNTER = re.compile(r"^(before|after) \[(\d+):\d+\].*/((?:cut|heard)-[a-z0-9-]+)")


@dataclass
class ProbeReport:
    """What one node's script printed. Times are in seconds, by the clock that all containers share."""

    listening: float = 0.0
    read: float = 0.0
    sent: list[tuple[float, float]] = field(default_factory=list)
    before: dict[str, int] = field(default_factory=dict)
    after: dict[str, int] = field(default_factory=dict)
    reached: set[int] = field(default_factory=set)

    def rise(self, name: str) -> int:
        """The number of packets that a rule has counted meanwhile."""
        return self.after.get(name, 0) - self.before.get(name, 0)


def both_directions(cuts: Iterable[Link]) -> frozenset[Link]:
    """Both directions of every pair that is cut in at least one."""
    return frozenset(way for cut in cuts for way in (cut, cut.back))


def counted_at(way: Link) -> int:
    """The node in whose namespace arriving packets are counted; for the client, leaving ones."""
    return way.sender if way.receiver == CLIENT else way.receiver


def counting_rule(way: Link, addresses: Mapping[int, str]) -> IptablesRule:
    """The rule that counts packets in this direction that pass every DROP."""
    name = f"heard-{way.name}"
    if way.receiver == CLIENT:
        return IptablesRule("OUTPUT", f"-p udp -d {addresses[CLIENT]} --dport {_UDP_PORT}", name, drop=False)
    if way.sender == CLIENT:
        return IptablesRule("INPUT", f"-p tcp -s {addresses[CLIENT]} --dport {CLIENT_PORT}", name, drop=False)
    return IptablesRule("INPUT", f"-p udp -s {addresses[way.sender]} --dport {_UDP_PORT}", name, drop=False)


def probe_script(
    node: int, cuts: Collection[Link], addresses: Mapping[int, str], ports: Mapping[int, int], tag: str
) -> str:
    """The script for one node's namespace. `ports`: where nodes listen for each other, by node id."""
    ways = sorted(both_directions(cuts))
    posts = [counting_rule(way, addresses) for way in ways if counted_at(way) == node]
    peers = [way.receiver for way in ways if way.sender == node]
    tries = "\n".join(f"try {peer} {addresses[peer]} {ports[peer]} &" for peer in peers if peer != CLIENT)
    return counting_script(
        posts,
        tag,
        f"""try() {{
  said=$(timeout 0.3 bash -c "</dev/tcp/$2/$3" 2>&1)
  if [ $? = 0 ] || [[ $said = *refused* ]]; then echo "reached $1"; fi
}}
{tries}
for burst in $(seq {_BURSTS}); do
  began=$EPOCHREALTIME
  for peer in {" ".join(addresses[peer] for peer in peers)}; do
    echo kafka-chaos 2>/dev/null >/dev/udp/$peer/{_UDP_PORT}
  done
  echo "sent $began $EPOCHREALTIME"
  sleep 0.05
done
wait""",
    )


def counting_script(posts: Iterable[IptablesRule], tag: str, acts: str) -> str:
    """Append counting rules to their chains, print all counters of the tag before and after `acts`, and
    remove the counting rules again."""
    appended = "\n".join(f"iptables -w -A {rule.text(tag)}" for rule in posts)
    return f"""forget() {{ {remove_script(tag, "heard-").strip()}
}}
counted() {{ iptables-save -c -t filter | grep -F -- {tag}/ | sed "s/^/$1 /"; }}
forget
trap forget EXIT
{appended}
echo "listening $EPOCHREALTIME"
counted before
{acts}
echo "read $EPOCHREALTIME"
counted after
exit 0
"""


def parse_report(text: str) -> ProbeReport:
    """Parses what a script has printed."""
    report = ProbeReport()
    for line in text.splitlines():
        counter = _COUNTER.match(line)
        if counter:
            counts = report.before if counter[1] == "before" else report.after
            counts[counter[3]] = counts.get(counter[3], 0) + int(counter[2])
            continue
        match line.split():
            case ["listening", at]:
                report.listening = float(at)
            case ["read", at]:
                report.read = float(at)
            case ["sent", began, ended]:
                report.sent.append((float(began), float(ended)))
            case ["reached", peer]:
                report.reached.add(int(peer))
    return report


def judge(
    placed: Collection[Placed], reports: Mapping[int, ProbeReport], answered: Collection[int]
) -> Evidence:
    """Whether these reports of nodes, and the brokers that answered the client, prove all cuts.

    A node without a report did not run: its directions are not judged, only named in the facts.
    """
    holders = dict(placed)
    cut_facts: dict[str, object] = {}
    open_facts: dict[str, object] = {}
    wrong: list[str] = []
    packets = 0
    silent = {node for cut in holders for node in cut} - {CLIENT} - set(reports)
    for way in sorted(both_directions(holders)):
        if silent & set(way):
            continue
        name = f"{node_name(way.sender)} to {node_name(way.receiver)}"
        heard = reports[counted_at(way)].after.get(f"heard-{way.name}", 0)
        if way in holders:
            dropped = reports[holders[way]].rise(f"cut-{way.name}")
            packets += dropped
            cut_facts[name] = {"dropped": dropped, "arrived": heard}
            wrong += _cut_wrong(way, name, dropped, heard, reports)
        else:
            open_facts[name] = {"arrived": heard}
            if not heard:
                wrong.append(f"{name}: nothing arrives, though this direction is not cut")
        if way.receiver in (reports[way.sender].reached if way.sender != CLIENT else answered):
            wrong.append(f"{name}: a connection can be opened")
    facts: dict[str, object] = {
        "cut": cut_facts,
        "open": open_facts,
        "rules_on": sorted(set(holders.values())),
    }
    if silent:
        facts["not_running"] = sorted(silent)
    if not cut_facts:
        wrong.append(f"{node_names(silent)} does not run: no cut could be proved")
    if wrong:
        return Evidence(False, "; ".join(wrong[:3]), facts)
    what = f"{packets} packets dropped in {len(cut_facts)} direction(s), none passed"
    what += ", no connection can be opened"
    if open_facts:
        what += f"; in the other {len(open_facts)} packets arrive"
    if silent:
        what += f"; {node_names(silent)} does not run"
    return Evidence(True, what, facts)


def _cut_wrong(
    way: Link, name: str, dropped: int, heard: int, reports: Mapping[int, ProbeReport]
) -> list[str]:
    if heard:
        return [f"{name}: {heard} packets passed"]
    if dropped <= 0:
        return [f"{name}: no packet was dropped"]
    if CLIENT in way:
        return []
    listener = reports[counted_at(way)]
    tried = (
        listener.listening < began and ended < listener.read for began, ended in reports[way.sender].sent
    )
    return [] if any(tried) else [f"{name}: nothing was sent while the other end listened"]
