"""Lines of a file as settings of a client that has names of its own."""

from __future__ import annotations

import re
from dataclasses import dataclass

from harness.model.config.properties import PropertyLine
from harness.model.errors import closest
from harness.tools.audit.clients.catalogue import OwnClient, OwnSetting
from harness.tools.audit.clients.own_values import expected_words
from harness.tools.audit.known_settings import SERVER_KINDS, SettingKind, canonical, known_settings
from harness.tools.audit.setting_values import PLACEHOLDERS

_NEUTRAL = ("kafka", "client", "config", "options", "opts", "settings", "args", "default")
_WRAPPERS = {SettingKind.PRODUCER: "producer", SettingKind.CONSUMER: "consumer"}
_NUMBERED = re.compile(r"\[\d+\]$")


@dataclass(frozen=True, slots=True)
class OwnLine(PropertyLine):
    """A setting by the name and in the value that rules know, as `own_name` and `own_value` in the file.

    `refused`: what the client would take instead of the value. `unknown`: why the client does not have the
    name, and `meant` the one that was probably meant.
    """

    own_name: str = ""
    own_value: str = ""
    refused: str | None = None
    unknown: str | None = None
    meant: str | None = None


@dataclass(frozen=True, slots=True)
class NamedSetting:
    """A name of a file taken apart: the setting, the word that says what it configures, and the label of the
    client before it."""

    setting: OwnSetting
    kind: SettingKind | None
    label: str
    wrapper: str


def find_setting(client: OwnClient, name: str) -> NamedSetting | None:
    """The setting of a dotted name, behind words such as `producer`; None: the client has none."""
    parts = [_NUMBERED.sub("", part) for part in name.split(".")]
    for start in range(len(parts)):
        setting = client.by_name.get(".".join(parts[start:]))
        if setting is None:
            continue
        before = [part for part in parts[:start] if part.lower() not in _NEUTRAL]
        before = [part for part in before if part not in client.prefixes and part != str(client.client)]
        kinds = [kind for part in before if (kind := kind_of(client, part)) is not None]
        if before and not kinds and not kind_of(client, parts[start]):
            return None
        label = ".".join(part for part in before if kind_of(client, part) is None)
        wrapper = next((part for part in reversed(before) if kind_of(client, part) is not None), "")
        return NamedSetting(setting, kinds[-1] if kinds else None, label, wrapper)
    return None


def kind_of(client: OwnClient, word: str) -> SettingKind | None:
    """What a word before a name, such as `NewWriter` or `producers`, says that it configures."""
    word = _NUMBERED.sub("", word)
    return next(
        (
            kind
            for kind, name in _WRAPPERS.items()
            if word.lower() in (name, f"{name}s") or word in client.wrappers.get(name, ())  # type: ignore[call-overload]
        ),
        None,
    )


def own_line(client: OwnClient, line: PropertyLine, named: NamedSetting) -> OwnLine:
    """A line as a setting that rules know."""
    # Behind lines of code stands a comma, and texts are in quotes.
    setting, value = named.setting, line.value.strip().rstrip(",").strip("'\"")
    later = any(mark in value for mark in PLACEHOLDERS)
    meant = value if later else setting.read(value)
    changed = client.below.get(named.wrapper, {}).get(setting.name, {})
    if meant is not None and (instead := changed.get(setting.own_value(meant))):
        meant = setting.read(instead)
    return OwnLine(
        name=setting.rule_name,
        value=value if meant is None else meant,
        file=line.file,
        line=line.line,
        own_name=setting.name,
        own_value=value,
        refused=expected_words(setting.form, setting.values) if meant is None else None,
    )


def defaults_below(client: OwnClient, wrapper: str) -> list[OwnLine]:
    """The defaults of what another constructor makes."""
    return [
        OwnLine(
            name=setting.rule_name,
            value=setting.read(changed["default"]) or "",
            file=f"the default of {wrapper}, {client}",
            line=0,
            own_name=name,
            own_value=changed["default"],
        )
        for name, changed in client.below.get(wrapper, {}).items()
        if (setting := client.by_name.get(name)) is not None and "default" in changed
    ]


def unknown_line(client: OwnClient, line: PropertyLine) -> OwnLine:
    """A line whose name the client does not have, with the reason."""
    name = _NUMBERED.sub("", line.name)
    last = name.rpartition(".")[2]
    kafkas = next((known for known in (canonical(name), canonical(last)) if is_of_clients(known)), None)
    meant = None
    if kafkas is not None and kafkas in client.by_rule_name:
        meant = client.by_rule_name[kafkas].name
        says = f"Kafka's name, which {client.client} does not know"
    elif kafkas is not None and kafkas in client.lacks:
        lack = client.lacks[kafkas]
        says = f"Kafka's name; {client.client} has no such setting ({lack.title}: {lack.says})"
    else:
        meant = closest_own(client, name)
        says = f"unknown name: {client} has no such setting"
        if meant is not None and meant.lower() == name.lower():
            says += "; upper and lower case are told apart"
    return OwnLine(
        name=f"{client.client}:{line.name}",
        value="",
        file=line.file,
        line=line.line,
        own_name=line.name,
        own_value=line.value.strip(),
        unknown=says,
        meant=meant,
    )


def closest_own(client: OwnClient, name: str) -> str | None:
    """The client's name that was probably meant; None: none is similar."""
    for text in (name, name.rpartition(".")[2]):
        same = (known for known in client.by_name if known.lower() == text.lower())
        if found := next(same, None):
            return found
    squashed = {re.sub(r"[^a-z0-9]", "", known.lower()): known for known in client.by_name}
    last = name.rpartition(".")[2]
    return (
        squashed.get(re.sub(r"[^a-z0-9]", "", name.lower()))
        or closest(name, client.by_name, cutoff=0.85)
        or closest(last, client.by_name, cutoff=0.85)
    )


def is_of_clients(name: str) -> bool:
    """Whether Kafka has this name for clients."""
    known = known_settings().get(name)
    return known is not None and not known.kinds.issubset(SERVER_KINDS)


def is_of_servers(name: str) -> bool:
    """Whether Kafka has this name for topics or brokers, and for no client."""
    known = known_settings().get(canonical(name))
    return known is not None and known.kinds.issubset(SERVER_KINDS)
