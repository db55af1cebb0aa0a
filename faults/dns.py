"""DNS: host names of nodes resolve to a wrong address, or to none."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from faults.network.namespaces import IptablesInjection, IptablesRule
from faults.shared.fault_spec import Evidence, InjectionContext
from faults.shared.process_fault import OnNodes, ProcessFault, resolve_nodes
from faults.shared.waiting import in_parallel, unless_ended
from faults.shared.words import node_name
from faults.targets import Target
from faults.targets.fault_cluster import CommandOutput
from faults.targets.target_context import ClusterShape
from harness.model.errors import FaultError
from harness.model.node_layout import CLIENT, is_application
from harness.model.polling import poll_within

NOBODY = "192.0.2.1"
"""An address of TEST-NET-1, which no machine has (RFC 5737)."""
_RESOLVER = "127.0.0.11"
"""Docker's own resolver, in every container of a network that a user made."""
_BACK_SECONDS = 30.0


def hosts_script(names: tuple[str, ...], address: str, tag: str) -> str:
    """Adds lines to the hosts file, unless they are there; prints `put` if they were not."""
    lines = " ".join(f"'{address} {name} # {tag}/'" for name in names)
    return f"grep -qF '# {tag}/' /etc/hosts || {{ printf '%s\\n' {lines} >>/etc/hosts && echo put; }}"


def clean_script(tag: str) -> str:
    """Removes the lines again. The file is a mount, so it is written and not replaced."""
    copy = f"/tmp/.{tag}.hosts"
    return f"""
if grep -qF '# {tag}/' /etc/hosts; then
  grep -vF '# {tag}/' /etc/hosts >{copy}; cat {copy} >/etc/hosts; rm -f {copy}
fi"""


def ask_script(names: tuple[str, ...]) -> str:
    """Resolves all names at once; prints `NAME ADDRESS`, or the name alone if it was not resolved in time."""
    lines = [f'(echo "{name} $(timeout 2 getent hosts {name} | cut -d" " -f1)") &' for name in names]
    return "command -v getent >/dev/null || { echo 'there is no getent'; exit 1; }\n" + "\n".join(
        [*lines, "wait"]
    )


class NamesChanged(OnNodes, IptablesInjection):
    """On these nodes `names` (node, host name) resolve to `address`, or, if that is None, no name does."""

    proof_seconds = 20.0
    back = "resolves names again, and is in every ISR"

    address: str | None
    names: tuple[tuple[int, str], ...]

    @property
    def holders(self) -> tuple[int, ...]:
        return self.numbers if self.address is None else ()

    def rules(self, context: InjectionContext, node: int) -> list[IptablesRule]:  # noqa: ARG002
        return [IptablesRule("OUTPUT", f"-d {_RESOLVER}", "resolver")]

    def apply(self, context: InjectionContext) -> None:
        super().apply(context)
        if self.address is not None:
            in_parallel(context.running(self.nodes), lambda node: self._write(context, node))

    def undo(self, context: InjectionContext) -> None:
        if self.address is None:
            super().undo(context)
        else:
            in_parallel(
                context.running(self.nodes), lambda node: self._run(context, node, clean_script(context.tag))
            )

    def restarted(self, context: InjectionContext, node: int) -> bool:
        if self.address is None:
            return super().restarted(context, node)
        # Docker writes the hosts file anew when a container starts.
        return self._write(context, node)

    def measure(self, context: InjectionContext) -> Evidence:
        resolved = self._resolved(context)
        facts: dict[str, object] = {"resolved": {node_name(node): names for node, names in resolved.items()}}
        if not resolved:
            return Evidence(False, f"{self.target} does not run, so it resolves nothing", facts)
        for node, names in resolved.items():
            for name, address in names.items():
                if address != (self.address or ""):
                    what = f"{node_name(node)} still resolves {name} to {address or 'nothing'}"
                    return Evidence(False, what, facts)
        names_ = ", ".join(sorted({name for names in resolved.values() for name in names}))
        how = "resolves no name: not" if self.address is None else f"resolves to {self.address}:"
        return Evidence(True, f"{self.target} {how} {names_}", facts)

    def healed(self, context: InjectionContext) -> Evidence:
        right = {name: context.cluster.address(node) for node, name in self.names}

        def missing() -> str | None:
            for node, names in self._resolved(context).items():
                for name, address in names.items():
                    if address != right[name]:
                        return f"{node_name(node)} resolves {name} to {address or 'nothing'}"
            return None

        if (left := poll_within(_BACK_SECONDS, missing)) is not None:
            raise FaultError("a host name is not resolved as before", where=self.target, found=left)
        return super().healed(context)

    def _names_of(self, node: int) -> tuple[str, ...]:
        """The names that change for a node: its own does not."""
        return tuple(name for other, name in self.names if other != node)

    def _resolved(self, context: InjectionContext) -> dict[int, dict[str, str]]:
        """The address of each name, by node that runs (empty: none)."""

        def ask(node: int) -> CommandOutput | None:
            return self._run(context, node, ask_script(self._names_of(node)))

        outputs = in_parallel(context.running(self.nodes), ask)
        return {
            node: {(words := line.split())[0]: words[1] if len(words) > 1 else "" for line in lines}
            for node, output in outputs.items()
            if output is not None and (lines := output.text.split("\n")[: len(self._names_of(node))])
        }

    def _write(self, context: InjectionContext, node: int) -> bool:
        assert self.address is not None
        output = self._run(context, node, hosts_script(self._names_of(node), self.address, context.tag))
        return output is not None and "put" in output.text.split()

    def _run(self, context: InjectionContext, node: int, script: str) -> CommandOutput | None:
        """What a script printed in the node's own container; None: the node has ended meanwhile."""

        def run() -> CommandOutput:
            output = context.cluster.in_node(node, script)
            if output.code != 0:
                raise FaultError(
                    "a script could not run in a node's container",
                    where=node_name(node),
                    expected="a shell, `getent`, and a hosts file that root may write",
                    found=output.text.strip()[-200:],
                    next_step="choose another target",
                )
            return output

        return unless_ended(context, node, run)


class Dns(ProcessFault):
    """On the target's nodes host names resolve to a wrong address (`answer: wrong`), or no name resolves at
    all (`answer: none`).

    `wrong`: the names of the nodes in `of` (default: of all other nodes) stand in the hosts file of each
    container with an address that nobody has, and the resolver asks that file first. `none`: packets to
    Docker's resolver are dropped, so every name is affected, and a look-up fails after some seconds.

    It works in containers on the network of a cluster that kafka-chaos starts: brokers, controllers, and
    applications in containers. Clients on the harness's machine connect to addresses without names, so
    they are not affected; nor can the fault be aimed at them.

    What Kafka does: connections that are open stay. A node resolves a peer's name when it connects again:
    after a restart, an idle time or a cut. The JVM keeps an answer for 30 seconds and a failure for 10
    (networkaddress.cache.ttl and .negative.ttl). With a wrong address a connection attempt ends after
    socket.connection.setup.timeout.ms; without an answer the node logs UnknownHostException. Both are tried
    again with back-off. A follower that cannot reach its leader leaves the ISR after
    replica.lag.time.max.ms, a broker that cannot reach the controller is fenced (KIP-631). Combine it with
    a `kill` or a `partition` of the peer to see this.

    Proof: `getent hosts`, run in each container, gives the wrong address, or none, for every such name.
    """

    kind: Literal["dns"] = "dns"
    needs = ("iptables",)
    applications = "containers"
    injection = NamesChanged
    restores = "what host names resolve to"

    answer: Literal["wrong", "none"] = Field(
        default="wrong", description="`wrong`: another address; `none`: no name resolves"
    )
    of: Target | None = Field(
        default=None, description="nodes whose names resolve wrongly; default: all others"
    )
    address: str = Field(
        default=NOBODY, pattern=r"^\d{1,3}(\.\d{1,3}){3}$", description="the wrong address, IPv4"
    )

    @model_validator(mode="after")
    def _check_of(self) -> Dns:
        if self.answer == "none" and (self.of is not None or self.address != NOBODY):
            raise ValueError("with `answer: none` no name resolves: leave `of` and `address` out")
        return self

    def aim(self, context: InjectionContext) -> NamesChanged:
        fields: dict[str, Any] = resolve_nodes(context, self.target)
        cluster = context.cluster
        every = (*cluster.broker_ids, *cluster.controller_ids, *cluster.zookeeper_ids)
        wanted = every if self.of is None else self.of.resolve(context.snapshot())
        named = sorted({node for node in wanted if node != CLIENT and not is_application(node)})
        affected = [node for node in fields["numbers"] if set(named) - {node}]
        if not affected:
            raise FaultError(
                "there is no other name to resolve",
                where=f"target {self.target}, of {self.of or 'all others'}",
                expected="a name of another node than the target",
                found="none",
                next_step="name other nodes in `of`",
            )
        address = self.address if self.answer == "wrong" else None
        names = tuple((node, cluster.host_name(node)) for node in named)
        return NamesChanged(**{**fields, "numbers": tuple(affected)}, address=address, names=names)

    def warnings(self, shape: ClusterShape) -> tuple[str, ...]:
        warnings = super().warnings(shape)
        if self.of is not None and self.of.beside_brokers():
            raise ValueError(f"target `{self.of}`: only brokers, controllers and ZooKeeper have such names")
        return warnings

    def max_brokers_down(self, shape: ClusterShape) -> int:  # noqa: ARG002
        # Open connections stay, so the nodes go on serving.
        return 0
