"""Requests: single requests or responses of Kafka's protocol come late, twice, never, or with an error."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field, field_validator, model_validator

from faults.proxied.apis import NAMING_TOPICS, checked_api, checked_error
from faults.proxied.rules import RuleAdded, proxies_of, seed_of
from faults.shared.fault_spec import FaultSpec, InjectionContext
from faults.targets import Target
from faults.targets.target_context import ClusterShape
from harness.model.frozen import Frozen
from harness.model.kafka_protocol import HEADERS_ONLY
from harness.model.node_layout import CLIENT
from harness.model.request_rules import REQUESTS_ONLY, Action, RequestRule

_DELAY = re.compile(r"^delay (\d+(?:\.\d+)?) ?(ms|s)$")
_MOST_DELAY_MS = 600_000.0
_WORDS: dict[str, Action] = {
    "hold": "hold",
    "hold until heal": "hold",
    "drop": "drop",
    "disconnect before": "disconnect_before",
    "disconnect after": "disconnect_after",
    "duplicate": "duplicate",
    "reorder with next": "reorder_with_next",
}
_EXPECTED = f"write `delay 2 s` (or ms), `error NAME`, or one of {', '.join(f'`{word}`' for word in _WORDS)}"


class Act(NamedTuple):
    """What is done with a message: a rule's action with its delay in milliseconds, or with an error's
    name."""

    action: Action
    delay_ms: float = 0.0
    error: str | None = None


def parse_act(text: str) -> Act:
    """`delay 2 s`, `hold`, `drop`, `disconnect before`, `disconnect after`, `error NAME`, `duplicate`,
    `reorder with next`.

    Raises:
        ValueError: it is none of these, or Kafka has no such error.
    """
    words = " ".join(text.split())
    if (match := _DELAY.match(words)) is not None:
        delay = float(match[1]) * (1000 if match[2] == "s" else 1)
        if not 0 < delay <= _MOST_DELAY_MS:
            raise ValueError(f"{text!r} is not above 0 and at most {_MOST_DELAY_MS / 1000:g} s")
        return Act("delay", delay_ms=delay)
    kind, _, rest = words.partition(" ")
    if kind == "error" and rest:
        return Act("error", error=checked_error(rest))
    if words not in _WORDS:
        raise ValueError(f"{text!r} is nothing that can be done with a request: {_EXPECTED}")
    return Act(_WORDS[words])


class RequestMatch(Frozen):
    """Which requests, or which responses to them."""

    api: str = Field(description="Kafka's name of the API, such as Produce, Fetch, EndTxn or AlterPartition")
    direction: Literal["request", "response"] = Field(
        default="request", description="the requests themselves, or the responses to them"
    )
    client: str | None = Field(
        default=None,
        min_length=1,
        description="client.id of who asks, `*` stands for any characters; default: everyone, except for the "
        "harness's own questions (client.id kafka-chaos)",
    )
    sender: Target | None = Field(
        default=None, alias="from", description="the nodes that send them, or `client`; default: any"
    )
    to: Target | None = Field(
        default=None, description="the nodes that they are sent to, or `client` (responses); default: any"
    )
    topic: str | None = Field(
        default=None,
        min_length=1,
        description="a topic that they name; default with `partition`: the topic under test",
    )
    partition: Annotated[int, Field(ge=0)] | Literal["any"] | None = Field(
        default=None, description="a partition of that topic that they name, or `any` of them"
    )
    nth: int | None = Field(
        default=None, ge=1, description="only the nth of them, counted by each node's proxy from 1"
    )
    share: float | None = Field(
        default=None, gt=0, le=1, description="only this share of them, drawn by the seed"
    )

    @field_validator("api")
    @classmethod
    def _known(cls, api: str) -> str:
        return checked_api(api)

    @model_validator(mode="after")
    def _consistent(self) -> RequestMatch:
        if (self.topic is not None or self.partition is not None) and self.api not in NAMING_TOPICS:
            raise ValueError(f"requests of {self.api} name no topics: leave `topic` and `partition` out")
        if self.nth is not None and self.share is not None:
            raise ValueError("give either `nth` or `share`, not both")
        return self

    def rule(self, context: InjectionContext, rule_id: str, act: Act) -> RequestRule:
        """The rule that does this with them.

        Raises:
            FaultError: a target matches nothing, or there is no such topic.
        """
        snapshot = context.snapshot() if self.sender or self.to else None
        sender, to = (
            () if target is None or snapshot is None else target.resolve(snapshot)
            for target in (self.sender, self.to)
        )
        topic = self.topic or (None if self.partition is None else context.topic)
        return RequestRule(
            id=rule_id,
            action=act.action,
            api=(self.api,),
            direction=self.direction,
            client=self.client,
            from_nodes=sender,
            to_nodes=to,
            topic=topic,
            topic_id=None if topic is None else context.cluster.topic_id(topic),
            partition=None if self.partition == "any" else self.partition,
            nth=self.nth,
            share=1.0 if self.share is None else self.share,
            seed=seed_of(context),
            delay_ms=act.delay_ms,
            error=act.error,
        )

    @property
    def names_topics(self) -> bool:
        """Whether it depends on what a message names."""
        return self.topic is not None or self.partition is not None

    def covers(self, other: RequestMatch | RequestRule) -> bool:
        """Whether the other one is about the same API, and about the client, topic and partition that this
        names. Nodes are left out: those of a target may have been others then."""
        names = {name: getattr(self, name) for name in ("client", "topic", "partition")}
        same = all(value in (None, "any", getattr(other, name)) for name, value in names.items())
        return same and other.api in (self.api, (self.api,)) and self.direction == other.direction

    def __str__(self) -> str:
        names = ("client", "sender", "to", "topic", "partition", "nth", "share")
        named = (("from" if name == "sender" else name, getattr(self, name)) for name in names)
        parts = [f"{key} {value}" for key, value in named if value is not None]
        what = f"{self.api} responses" if self.direction == "response" else self.api
        return " ".join([what, ", ".join(parts)]).strip()


class Requests(FaultSpec):
    """Requests of one API of Kafka's protocol, or the responses to them, are late, lost, doubled, answered
    with an error or overtaken, or their connection is closed: those that `on` describes, and no others.

        requests: {on: {api: EndTxn, client: p1}, do: hold until heal}
        requests: {on: {api: Produce, partition: 0, share: 0.1}, do: error NOT_ENOUGH_REPLICAS}
        requests: {on: {api: Fetch, from: {followers: 0}, to: {leader: 0}}, do: delay 2 s}

    A proxy in front of every listener of every node reads the protocol and does what `do` says:

    - `delay 2 s` (or `ms`), and `hold`, which lasts until the fault is healed. What follows in the connection
      waits behind it. A held request still goes to its node if who asked has given up meanwhile.
    - `drop`: it never arrives, and this connection gets no further response, since Kafka answers in the order
      of requests.
    - `disconnect before` it is passed on, or `disconnect after`: a request reaches its node, and the
      connection is closed in place of the response.
    - `error NAME`: who asked gets this error. A request does not reach its node; with `direction: response`
      the node has carried it out. Any error of Kafka's protocol can be named, also one that the API never
      returns.
    - `duplicate`: the node gets the request twice; who asked gets the first response.
    - `reorder with next`: the node gets the next request of this API in the connection first.

    An experiment with this fault has proxies (`cluster: {proxy: true}`) without asking for them. On an
    existing cluster they stand between its brokers and the run's own clients, so requests between brokers
    pass none. Topics and partitions are those that the message names, or its fetch session (KIP-227); a
    session that is older than the fault is ended, so that a new one names them.

    What Kafka does: a client whose request gets no response closes the connection after request.timeout.ms
    (librdkafka: socket.timeout.ms) and sends it again over another. A request that was held may therefore
    arrive after its repetition, which is how a late EndTxn or WriteTxnMarkers ends the next transaction
    (KAFKA-19446). After an error in a Produce response the client retries what is retriable, and
    only idempotence keeps it from being there twice.

    Conditions are those of schedules and steps: `after` and `for` in a write step; or an inject step, a wait
    step (`wait: {request: {api: EndTxn, client: p1}, held: 1}`) and a heal step.

    Proof: the rule is in every proxy; and when the fault is healed, the proxies' counters: how many messages
    matched, and how many were acted on. If there was none the verdict is `unknown`, and the evidence says
    which requests passed instead, by API and client.
    """

    kind: Literal["requests"] = "requests"
    external = "requests"
    injection = RuleAdded
    on: RequestMatch = Field(description="which requests or responses")
    do: str = Field(
        description="`delay 2 s` (or ms), `hold`, `drop`, `disconnect before`, `disconnect after`, "
        "`error NAME`, `duplicate` or `reorder with next`"
    )
    held: Literal["release", "drop"] = Field(
        default="release", description="what becomes of what `hold` holds when the fault is healed"
    )

    @model_validator(mode="before")
    @classmethod
    def _on(cls, value: Any) -> Any:
        # YAML 1.1 reads the bare word `on` as true.
        if isinstance(value, Mapping) and True in value:
            return {"on" if key is True else key: content for key, content in value.items()}
        return value

    @field_validator("do")
    @classmethod
    def _known(cls, do: str) -> str:
        parse_act(do)
        return " ".join(do.split())

    @model_validator(mode="after")
    def _consistent(self) -> Requests:
        act, on = parse_act(self.do), self.on
        if act.error is not None and on.api in HEADERS_ONLY:
            raise ValueError(f"responses of {on.api} are not read, so they cannot be given an error")
        if self.held != "release" and act.action != "hold":
            raise ValueError(f"`held: {self.held}` is for `hold`, and this does `{self.do}`")
        if on.direction == "response" and act.action in REQUESTS_ONLY:
            raise ValueError(
                f"`{self.do}` is for requests: clients take one response to each request, in their order"
            )
        return self

    @property
    def needs_body(self) -> bool:
        """Whether the body of a message has to be read, to find it or to answer it with an error."""
        return self.on.names_topics or parse_act(self.do).error is not None

    @property
    def uses_proxy(self) -> bool:
        return True

    @property
    def api(self) -> str:
        return self.on.api

    def holds(self, request: RequestMatch) -> bool:
        """Whether it holds such requests."""
        return parse_act(self.do).action == "hold" and request.covers(self.on)

    def targets(self) -> tuple[Any, ...]:
        return tuple(target for target in (self.on.sender, self.on.to) if target is not None)

    def aim(self, context: InjectionContext) -> RuleAdded:
        rule = self.on.rule(context, context.tag, parse_act(self.do))
        cluster = context.cluster
        every = (*cluster.broker_ids, *cluster.controller_ids)
        # The proxy of the node that is asked acts on the request and on its response.
        asked = rule.to_nodes if self.on.direction == "request" else rule.from_nodes
        return RuleAdded(
            rules=(rule,),
            what=str(self.on),
            does=self.do,
            at=tuple(sorted({*asked} - {CLIENT} or every)),
            held=self.held,
            before=tuple((*key, count) for key, count in proxies_of(context).passed().items()),
        )

    def warnings(self, shape: ClusterShape) -> tuple[str, ...]:
        super().warnings(shape)
        asked = self.on.to if self.on.direction == "request" else self.on.sender
        if asked is not None and asked.possible_nodes(shape) <= {CLIENT}:
            key = "to" if self.on.direction == "request" else "from"
            raise ValueError(f"`{key}: {asked}`: only nodes answer requests, clients do not")
        return ("every message of the cluster goes through proxies, which read its header",)
