"""The clients whose settings have names of their own, as data: a YAML file for each, read in their sources.

Rules know Kafka's names and values; a row says which of them a client's own name and value mean.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from importlib import resources
from typing import Literal

import yaml
from pydantic import Field

from harness.model.frozen import Frozen
from harness.tools.audit.clients.own_values import OwnForm, kafka_value
from harness.tools.audit.known_settings import ClientLibrary, SettingKind

_OPTION = "option"
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_KINDS = {"producer": SettingKind.PRODUCER, "consumer": SettingKind.CONSUMER}


class OwnSetting(Frozen):
    """A setting in the client's own name. `kafka` is the name of Kafka that rules know it by (None: they know
    its own), `of` whose it is, `values` Kafka's value for each own one, `spelled` other spellings of these.
    `default` is in own words and `at` the line that has it; it is shown if it is `listed`. `says` is what the
    setting promises, where that differs from Kafka's of the same meaning, `also` what is
    added to that."""

    name: str
    kafka: str | None = Field(None, alias="as")
    of: Literal["producer", "consumer", "clients"]
    form: OwnForm = "text"
    values: dict[str, str] = {}
    spelled: dict[str, str] = {}
    default: str | None = None
    at: str | None = None
    says: str | None = None
    also: str | None = None
    listed: bool = False

    @property
    def rule_name(self) -> str:
        """The name that rules know it by."""
        return self.kafka or self.name

    @property
    def kinds(self) -> tuple[SettingKind, ...]:
        """What it configures."""
        return (_KINDS[self.of],) if self.of in _KINDS else tuple(_KINDS.values())

    def read(self, text: str) -> str | None:
        """Kafka's value for an own one as written; None: the client does not have it."""
        return kafka_value(self.form, self.values, self.spelled, text)

    def own_value(self, value: str) -> str:
        """The own value for Kafka's; as it is if none means it."""
        return next((own for own, meant in self.values.items() if meant == value), value)


class Lack(Frozen):
    """What Kafka has a setting for, and this client has not: its name in words, what holds instead (`value`,
    in Kafka's words; None: no rule needs it), and a sentence about it."""

    title: str
    value: str | None = Field(None, alias="is")
    says: str
    at: str | None = None
    listed: bool = False

    @property
    def shown(self) -> str:
        """What holds instead, as it is shown."""
        return "none" if self.value in (None, "false") else str(self.value)


class RuleWords(Frozen):
    """What a rule of all clients says to users of this one; None: as it says to all. `silent`: nothing."""

    says: str | None = None
    do: str | None = None
    source: str | None = None
    silent: bool = False


class OwnClient(Frozen):
    """A client: its version, the package that has it, how a name with a value is written (`pair`), which
    settings to copy into a file, and what may stand before their names there. `below` are other defaults, and
    other meanings of values, of what is made by another constructor."""

    client: ClientLibrary
    version: str
    package: str
    pair: str
    copy_: str = Field(alias="copy")
    prefixes: tuple[str, ...] = ()
    wrappers: dict[Literal["producer", "consumer"], tuple[str, ...]] = {}
    implies_all: bool = False
    below: dict[str, dict[str, dict[str, str]]] = {}
    settings: tuple[OwnSetting, ...]
    lacks: dict[str, Lack] = {}
    others: dict[Literal["producer", "consumer", "clients"], str] = {}
    rules: dict[str, RuleWords] = {}

    def __str__(self) -> str:
        return f"{self.client} {self.version}"

    @cached_property
    def by_name(self) -> dict[str, OwnSetting]:
        """Every setting by its own name, also those that no rule needs."""
        others = [OwnSetting(name=name, of=of) for of, names in self.others.items() for name in names.split()]
        return {setting.name: setting for setting in (*others, *self.settings)}

    @cached_property
    def by_rule_name(self) -> dict[str, OwnSetting]:
        """The settings that rules know, by the name that they know."""
        return {setting.rule_name: setting for setting in self.settings}

    def knows(self, rule_name: str) -> bool:
        """Whether it has this setting, or a sentence about the lack of it."""
        return rule_name in self.by_rule_name or rule_name in self.lacks

    def default(self, rule_name: str) -> str | None:
        """The default in Kafka's words; None: there is none."""
        setting = self.by_rule_name.get(rule_name)
        if setting is not None and setting.default is not None:
            return setting.read(setting.default)
        lack = self.lacks.get(rule_name)
        return lack.value if lack else None

    def written(self, name: str, value: str) -> str:
        """An own name with its value, as the client's users write it."""
        setting = self.by_name.get(name)
        if setting is not None and setting.form == _OPTION:
            return f"{name}()" if value == "true" else f"no {name}()"
        return self.pair.format(name=name, value=value)

    def in_own_words(self, text: str, values: Mapping[str, str]) -> str:
        """A sentence in which the client's names stand for Kafka's; single words without a value, such as
        "retries", are left as they are. `values`: own values for {name} in the text."""
        for name in sorted({*self.by_rule_name, *self.lacks}, key=len, reverse=True):
            if name in self.by_rule_name and self.by_rule_name[name].kafka is None:
                continue
            pattern = rf"(?<![\w.{{]){re.escape(name)}(?:=(?P<value>[\w-]+|\{{[a-z.]+\}})|(?![\w}}=-]|\.\w))"
            for match in reversed(list(re.finditer(pattern, text))):
                value = match["value"]
                if value is not None or "." in name:
                    if value is not None and value.startswith("{"):
                        value = values.get(value[1:-1], value)
                    text = text[: match.start()] + self._own_pair(name, value) + text[match.end() :]
        return text

    def _own_pair(self, kafka: str, value: str | None) -> str:
        setting = self.by_rule_name.get(kafka)
        if setting is None:
            return self.lacks[kafka].title
        return setting.name if value is None else self.written(setting.name, setting.own_value(value))

    def sources(self, rule_names: tuple[str, ...]) -> Iterator[str]:
        """Where the client has the defaults of these settings."""
        for name in rule_names:
            found: OwnSetting | Lack | None = self.by_rule_name.get(name) or self.lacks.get(name)
            if found is not None and found.at:
                yield found.at


@cache
def own_client(library: ClientLibrary | None) -> OwnClient | None:
    """The client, if its settings have names of its own."""
    if library in (None, ClientLibrary.JAVA, ClientLibrary.LIBRDKAFKA):
        return None
    text = (resources.files("harness.tools.audit.clients") / f"{library}.yaml").read_text(encoding="utf-8")
    return OwnClient.model_validate(yaml.load(text, Loader=_LOADER))


@cache
def own_clients() -> dict[ClientLibrary, OwnClient]:
    """All clients that have names of their own."""
    return {client.client: client for library in ClientLibrary if (client := own_client(library))}
