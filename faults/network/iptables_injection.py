"""Injections that are iptables rules in the network namespaces of nodes."""

from __future__ import annotations

from abc import abstractmethod

from faults.network.iptables_rules import IptablesRule
from faults.network.namespace_scripts import insert_rules, remove_rules
from faults.shared.fault_spec import InjectionContext
from faults.shared.waiting import Measured, in_parallel


class IptablesInjection(Measured):
    """Rules in the network namespaces of its `holders`. A namespace dies with its container, and its rules
    with it, so a node that restarts gets them again."""

    @property
    def holders(self) -> tuple[int, ...]:
        """The nodes whose namespaces hold a rule."""
        return self.nodes

    @abstractmethod
    def rules(self, context: InjectionContext, node: int) -> list[IptablesRule]:
        """The rules in this holder's namespace."""

    def apply(self, context: InjectionContext) -> None:
        in_parallel(context.running(self.holders), lambda node: self._insert(context, node))

    def undo(self, context: InjectionContext) -> None:
        # Not only the holders: a proof that was interrupted leaves counting rules at other nodes too.
        in_parallel(context.running(self.nodes), lambda node: remove_rules(context, node))

    def restarted(self, context: InjectionContext, node: int) -> bool:
        return node in self.holders and self._insert(context, node)

    def _insert(self, context: InjectionContext, node: int) -> bool:
        """Whether any rule was missing."""
        return insert_rules(context, node, self.rules(context, node))
