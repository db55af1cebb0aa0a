"""A step of an experiment: the list of all kinds, those of every experiment and those of its workloads."""

from __future__ import annotations

from typing import Any, get_args

from pydantic import model_validator

from harness.model.frozen import Frozen
from harness.spec.steps import Ask, Heal, Inject, Sleep, Wait, Write
from harness.spec.topic import DeleteRecords, RecreateTopic
from workloads.groups.group_steps import AskOffsets, CommitOffsets, RestartReader
from workloads.java.drive_step import Drive
from workloads.java.init_producer_id import InitProducerId
from workloads.share.share_step import AlterShareGroup
from workloads.transactions.rival import Rival

_OfGroup = RestartReader | CommitOffsets | AskOffsets | AlterShareGroup
Sending = Write | Drive | Rival
"""The steps in which producers send. Each has a name, by which promises and expectations refer to it."""
_OfTopic = DeleteRecords | RecreateTopic
Action = Sending | Wait | Inject | Heal | Ask | InitProducerId | _OfGroup | _OfTopic | Sleep
_BARE = ("heal", "recreate_topic")
"""Steps that are complete without settings."""


class Step(Frozen):
    """One step of an experiment: exactly one of the keys."""

    write: Write | None = None
    drive: Drive | None = None
    rival: Rival | None = None
    wait: Wait | None = None
    inject: Inject | None = None
    heal: Heal | None = None
    ask: Ask | None = None
    init_producer_id: InitProducerId | None = None
    restart_reader: RestartReader | None = None
    delete_records: DeleteRecords | None = None
    recreate_topic: RecreateTopic | None = None
    commit_offsets: CommitOffsets | None = None
    ask_offsets: AskOffsets | None = None
    alter_share_group: AlterShareGroup | None = None
    sleep: Sleep | None = None

    @model_validator(mode="before")
    @classmethod
    def _shorthand(cls, value: Any) -> Any:
        # YAML reads `- heal:` as null.
        return next(({name: {}} for name in _BARE if value == {name: None}), value)

    @model_validator(mode="after")
    def _exactly_one(self) -> Step:
        if sum(action is not None for _, action in self) != 1:
            raise ValueError(f"a step is exactly one of {', '.join(type(self).model_fields)}")
        return self

    @property
    def action(self) -> Action:
        chosen: Action = next(action for _, action in self if action is not None)
        return chosen


KIND: dict[type[Action], str] = {
    get_args(field.annotation)[0]: name for name, field in Step.model_fields.items()
}
"""The name of a step in files, by what it does."""


def name_of(action: Action, index: int) -> str:
    """The name of a step in the metadata of a run; `index` is its place among the steps."""
    return action.name if isinstance(action, Sending) else f"{KIND[type(action)]}-{index}"
