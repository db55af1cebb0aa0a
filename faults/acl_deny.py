"""ACL deny: a principal loses a right while it uses it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from faults.shared.fault_spec import Evidence, FaultSpec, Injection, InjectionContext
from faults.shared.waiting import MeasuredInjection, await_or_fail, until_answered
from faults.shared.words import node_name, node_names
from faults.targets.target_context import ClusterShape
from harness.model.broker_views import AccessRule
from harness.model.errors import FaultError
from harness.model.frozen import Frozen

_BACK_SECONDS = 90.0
_REFUSED = "AUTHORIZATION_FAILED"


class Rule(Frozen):
    """A rule of access, as data of an injection (`AccessRule`)."""

    permission: str
    principal: str
    operation: str
    resource: str
    name: str

    @property
    def acl(self) -> AccessRule:
        return AccessRule(**self.model_dump())


class Denied(MeasuredInjection, Injection):
    """Rules were added, of which the last denies. `tried`: the principal is the harness's own."""

    proof_seconds = 15.0
    proof_pause = 0.25

    added: tuple[Rule, ...]
    tried: bool

    @property
    def nodes(self) -> tuple[int, ...]:
        return ()

    @property
    def target(self) -> str:
        return str(self._denial).removeprefix("deny ")

    @property
    def _denial(self) -> AccessRule:
        return self.added[-1].acl

    def apply(self, context: InjectionContext) -> None:
        self._change(context, add=True)

    def measure(self, context: InjectionContext) -> Evidence:
        refusals: dict[int, str | None] = {}
        facts: dict[str, object] = {"rule": str(self._denial), "refusals": refusals}
        reported = self._reported(context)
        if not reported:
            return Evidence(False, "no broker answers", facts)
        for number, rules in reported.items():
            if self._denial not in rules:
                return Evidence(False, f"the authorizer of {node_name(number)} has no such rule", facts)
            if self.tried:
                refusals[number] = context.cluster.refusal(number, self._denial)
                if _REFUSED not in (refusals[number] or ""):
                    answer = refusals[number] or "no error"
                    return Evidence(False, f"{node_name(number)} answers {self.target} with {answer}", facts)
        what = f"the authorizer of {node_names(reported)} has the rule `{self._denial}`"
        errors = ", ".join(sorted({str(error) for error in refusals.values()}))
        return Evidence(True, what + (f", and refuses with {errors}" if errors else ""), facts)

    def undo(self, context: InjectionContext) -> None:
        self._change(context, add=False)

    def healed(self, context: InjectionContext) -> Evidence:
        mine = {added.acl for added in self.added}

        def missing() -> str | None:
            reported = self._reported(context)
            left = [number for number, rules in reported.items() if mine & set(rules)]
            if left:
                self.undo(context)
                return f"{node_names(left)} still has the rule"
            return None if reported else "no broker answers"

        await_or_fail(
            _BACK_SECONDS,
            missing,
            "a rule of access was not removed",
            where=self.target,
            expected="the rules as before",
            next_step="`kafka-chaos heal` tries again, `kafka-acls.sh --remove` removes it by hand",
        )
        return Evidence(True, "every broker that answers has the former rules")

    def _change(self, context: InjectionContext, *, add: bool) -> None:
        acls = tuple(added.acl for added in self.added)
        refused = until_answered(lambda: context.cluster.change_access_rules(acls, add=add))
        if refused is not None:
            raise FaultError(
                "Kafka refused to change the rules of access",
                where=self.target,
                found=refused,
                next_step="the clients' user needs the right to alter the cluster",
            )

    def _reported(self, context: InjectionContext) -> dict[int, tuple[AccessRule, ...]]:
        reported = {number: context.cluster.access_rules(number) for number in context.cluster.broker_ids}
        return {number: rules for number, rules in reported.items() if rules is not None}


class AclDeny(FaultSpec):
    """A principal loses a right while it uses it, as with `kafka-acls.sh --add --deny-principal`: to `write`
    or to `read` the topic under test, or to read as the consumer group `group`; healed by removing the rule.

    The cluster needs an authorizer: on a cluster that kafka-chaos starts, `security: {sasl: plain, acls:
    true}`. The principal is by default that of the harness's clients (`User:kafka-chaos`). Its other rights
    on the topic or group stay: beside the rule that denies, one that allows it everything there is added, for
    with the first rule on a resource Kafka denies whatever no rule allows. A super user cannot be denied
    anything.

    What Kafka does: a rule that denies comes before those that allow (KIP-801); every broker applies it
    when it has read it from the metadata log, to connections that are open, too. A send is answered with
    TOPIC_AUTHORIZATION_FAILED, which producers do not send again: the record was not written. A fetch is
    answered so, too, and consumers report it to the application. A member of a group gets
    GROUP_AUTHORIZATION_FAILED, and librdkafka tries again. Nothing that was acknowledged is lost.

    Proof: the authorizer of every broker that answers has the rule. If the principal is that of the harness's
    clients, each of them also refuses it: a send without records, a fetch, or a heartbeat, which change
    nothing.
    """

    kind: Literal["acl_deny"] = "acl_deny"
    external = "requests"
    injection = Denied

    right: Literal["write", "read"] = Field(default="write", description="the operation that is denied")
    group: str | None = Field(
        default=None, min_length=1, description="the consumer group; default: the topic under test"
    )
    principal: str | None = Field(
        default=None,
        pattern=r"^\w+:.+$",
        description="as Kafka writes it, `User:alice`; default: the harness's clients",
    )

    @model_validator(mode="after")
    def _check_right(self) -> AclDeny:
        if self.group is not None and self.right != "read":
            raise ValueError("a group is only read: set `right: read`")
        return self

    @property
    def of_topic(self) -> bool:
        return self.group is None

    def warnings(self, shape: ClusterShape) -> tuple[str, ...]:
        super().warnings(shape)
        if not shape.acls:
            raise ValueError(
                "the cluster has no authorizer: set `security: {sasl: plain, acls: true}` below `cluster`"
            )
        return ()

    def aim(self, context: InjectionContext) -> Denied:
        own = context.cluster.client_principal
        principal = self.principal or own
        if principal is None:
            raise FaultError(
                "the principal of the clients is not known",
                expected="a user with a password, or a `principal`",
                found="clients without a user name",
                next_step="set `principal`, as `User:alice`",
            )
        of = ("topic", context.topic) if self.group is None else ("group", self.group)
        allowed, denied = (
            Rule(permission=word, principal=principal, operation=what, resource=of[0], name=of[1])
            for word, what in (("allow", "all"), ("deny", self.right))
        )
        answers = (context.cluster.access_rules(number) for number in context.cluster.broker_ids)
        now = next((answer for answer in answers if answer is not None), None)
        if now is None or denied.acl in now:
            raise FaultError(
                "there is nothing to deny",
                where=str(denied.acl),
                expected="a broker that answers, and no such rule yet",
                found="no answer" if now is None else "the rule is there",
                next_step="inject the fault when a broker answers, once at a time",
            )
        added = (denied,) if allowed.acl in now else (allowed, denied)
        return Denied(added=added, tried=principal == own)
