"""Files of claims and bugs: names in an arm are replaced by what they refer to before the file is validated.

`with` holds values, those of the file and those of one arm, which go first. In an arm's experiment, and in
what is expected of the arm, `$name` (or `${name}`) stands for a value: for the value itself, of whatever
type, or for its text if there is more around it. `$$` is a dollar sign. In a list, the items of a value
that is a list take the place of `$name`, and `{repeat: VALUE, times: N}` stands for N items.

An arm's `experiment` is the name of one in `experiments`; without it, it is the only one there. An
experiment may be `like: r12.cut`, the experiment `cut` in the file of a built-in claim; its other keys
replace parts of that one. Its `cluster` may be the name of one in clusters.yaml.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache

import yaml

from harness.lab.suite.model import Item
from harness.model.config.built_in_files import built_in_files
from harness.model.config.yaml_files import MOST_CHARACTERS, FileKind, NotYaml
from harness.model.errors import BadInput, did_you_mean

_CATALOGS = ("harness/lab/claims/catalog", "harness/lab/bugs/catalog")
_PLACEHOLDER = re.compile(r"\$(?:(\$)|(\w+)|\{(\w+)\})")
_NEXT_STEP = "`kafka-chaos claims --init claim.yaml` writes an example"
_NO_VALUE = "add it to `with`, or write `$$` where a dollar sign is meant"

Nodes = Mapping[str, yaml.Node]


def kind_of(model: type[Item], *, keys: str, example: str) -> FileKind[Item]:
    """The files of a suite's items; `keys` are those that every file has, `example` says where one is."""
    suite = model.suite
    return FileKind(
        model,
        one=f"a {suite.item}",
        expected=f"a mapping with {keys}",
        example=example,
        schema=f"kafka-chaos {suite.name} --schema",
        folder=f"harness/lab/{suite.name}/catalog",
        complete=complete,
    )


def complete(root: yaml.Node | None, origin: str) -> yaml.Node | None:
    """The nodes of a file with the whole experiment and all values in each of its arms.

    Raises:
        BadInput: there is no such value, experiment or cluster: names the line in `origin`.
        NotYaml: the file is too large with what it names.
    """
    return _File(origin).completed(root) if isinstance(root, yaml.MappingNode) else root


class _File:
    """A file whose arms are completed; `origin` names the file in messages."""

    def __init__(self, origin: str) -> None:
        self._origin = origin
        self._size = 0

    def completed(self, root: yaml.MappingNode) -> yaml.Node:
        keys = self._entries(root, "the file")
        experiments = self._below(keys, "experiments")
        values = _Values(self, {}).and_values(self._below(keys, "with"))
        arms = keys.get("arms")
        if isinstance(arms, yaml.SequenceNode):
            whole = [self._arm(arm, experiments, values) for arm in arms.value]
            keys["arms"] = _sequence(arms, whole)
        return _mapping(root, keys)

    def _arm(self, arm: yaml.Node, experiments: Nodes, shared: _Values) -> yaml.Node:
        keys = self._entries(arm, "an arm")
        values = shared.and_values(self._below(keys, "with"))
        named = keys.get("experiment")
        if named is None:
            if len(experiments) != 1:
                raise self.unknown("an arm names no experiment", arm, "", experiments)
            (named,) = experiments.values()
        elif isinstance(named, yaml.ScalarNode):
            named = self._named("experiment", named, experiments)
        kept = keys.keys() & {"with", "experiment"}
        whole = {key: node if key in kept else values.put_into(node) for key, node in keys.items()}
        return _mapping(arm, {**whole, "experiment": self._experiment(named, values)})

    def _experiment(self, node: yaml.Node, values: _Values) -> yaml.Node:
        keys = self._entries(node, "an experiment")
        if "like" in keys:
            keys = self._entries(self._builtin(keys.pop("like")), "an experiment") | keys
        keys = {key: values.put_into(child) for key, child in keys.items()}
        cluster = keys.get("cluster")
        if isinstance(cluster, yaml.ScalarNode) and cluster.value:
            keys["cluster"] = self._named(
                "cluster", cluster, _entries(_nodes("harness/lab/suite/clusters.yaml"))
            )
        return _mapping(node, keys)

    def _builtin(self, name: yaml.Node) -> yaml.Node:
        item, _, label = str(name.value).partition(".")
        files = {
            file.name.removesuffix(".yaml"): f"{folder}/{file.name}"
            for folder in _CATALOGS
            for file in built_in_files(folder).iterdir()
        }
        if item not in files:
            raise self.unknown(f"no built-in claim or bug has the file {item!r}", name, item, files)
        experiments = _entries(_entries(_nodes(files[item]))["experiments"])
        if label not in experiments:
            raise self.unknown(f"{item} has no experiment {label!r}", name, label, experiments)
        return experiments[label]

    def _named(self, what: str, name: yaml.ScalarNode, known: Nodes) -> yaml.Node:
        if name.value not in known:
            raise self.unknown(f"there is no {what} {name.value!r}", name, name.value, known)
        return known[name.value]

    def grow(self, size: int) -> None:
        """Count what is put in. Raises NotYaml if it is too much: a small file must not become a huge one."""
        self._size += size
        if self._size > MOST_CHARACTERS:
            raise NotYaml("too large with the values that it names")

    def unknown(
        self, what: str, node: yaml.Node, name: str, known: Iterable[str], next_step: str = _NEXT_STEP
    ) -> BadInput:
        """The error that `name`, at a node, is not a known name. `next_step` is used if no known name is
        similar."""
        names = sorted(known)
        expected = f"one of {', '.join(names)}" if names else "no name: there is none here"
        return self.wrong(what, node, expected, did_you_mean(name, names, next_step))

    def wrong(self, what: str, node: yaml.Node, expected: str, next_step: str = _NEXT_STEP) -> BadInput:
        """The error that a node has another type than expected."""
        found = node.value if isinstance(node, yaml.ScalarNode) else "a list or a mapping"
        where = f"{self._origin}, line {node.start_mark.line + 1}"
        return BadInput(what, where=where, expected=expected, found=found, next_step=next_step)

    def _below(self, keys: Nodes, key: str) -> Nodes:
        return self._entries(keys[key], f"`{key}`") if key in keys else {}

    def _entries(self, node: yaml.Node, what: str) -> dict[str, yaml.Node]:
        if not isinstance(node, yaml.MappingNode):
            raise self.wrong(f"{what} is not a mapping", node, "keys with values")
        return _entries(node)


class _Values:
    """The values of a file, or of one of its arms, by name."""

    def __init__(self, file: _File, values: Nodes) -> None:
        self._file = file
        self._values = values
        self._done: dict[int, yaml.Node] = {}

    def and_values(self, more: Nodes) -> _Values:
        """These and more values, which may name these."""
        own = {name: self.put_into(value) for name, value in more.items()}
        return _Values(self._file, {**self._values, **own})

    def put_into(self, node: yaml.Node) -> yaml.Node:
        """A node with the values in place of their names."""
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node)
        # A node that several aliases name is completed once.
        if id(node) not in self._done:
            whole: yaml.Node
            if isinstance(node, yaml.SequenceNode):
                whole = _sequence(node, [child for item in node.value for child in self._items(item)])
            else:
                pairs = [(self.put_into(key), self.put_into(value)) for key, value in node.value]
                whole = yaml.MappingNode(node.tag, pairs, node.start_mark, node.end_mark)
            self._file.grow(1 + len(whole.value))
            self._done[id(node)] = whole
        return self._done[id(node)]

    def _items(self, item: yaml.Node) -> Iterator[yaml.Node]:
        """The nodes that replace one item of a list."""
        whole = self.put_into(item)
        if isinstance(item, yaml.ScalarNode) and isinstance(whole, yaml.SequenceNode):
            yield from whole.value
        elif isinstance(whole, yaml.MappingNode) and _keys(whole) == ["repeat", "times"]:
            (_, repeated), (_, times) = whole.value
            if not str(times.value).isdecimal():
                raise self._file.wrong("an item cannot be repeated", times, "a whole number of times")
            self._file.grow(int(times.value))
            yield from [repeated] * int(times.value)
        else:
            yield whole

    def _scalar(self, node: yaml.ScalarNode) -> yaml.Node:
        matches = list(_PLACEHOLDER.finditer(node.value))
        if not matches:
            return node
        if len(matches) == 1 and matches[0].group() == node.value and not matches[0][1]:
            return self._value(matches[0], node)
        texts, end = [], 0
        for match in matches:
            value = "$" if match[1] else self._value(match, node).value
            if not isinstance(value, str):
                raise self._file.wrong(f"{match[0]} stands within a text", node, "a value that is a text")
            texts += [node.value[end : match.start()], value]
            end = match.end()
            self._file.grow(len(value))
        return _text("".join((*texts, node.value[end:])), node)

    def _value(self, match: re.Match[str], node: yaml.Node) -> yaml.Node:
        name = match[2] or match[3]
        if name not in self._values:
            raise self._file.unknown(f"no value is called {name!r}", node, name, self._values, _NO_VALUE)
        return self._values[name]


def _entries(node: yaml.Node) -> dict[str, yaml.Node]:
    """The values of a mapping by key, with those that it merges (`<<`)."""
    if isinstance(node, yaml.MappingNode):
        yaml.SafeLoader("").flatten_mapping(node)
    return {str(key.value): value for key, value in node.value}


def _keys(node: yaml.MappingNode) -> list[str]:
    return [str(key.value) for key, _ in node.value]


def _mapping(like: yaml.Node, keys: Nodes) -> yaml.MappingNode:
    known = {str(key.value): key for key, _ in like.value}
    pairs = [(known.get(name) or _text(name, value), value) for name, value in keys.items()]
    return yaml.MappingNode(like.tag, pairs, like.start_mark, like.end_mark)


def _text(text: str, like: yaml.Node) -> yaml.ScalarNode:
    return yaml.ScalarNode("tag:yaml.org,2002:str", text, like.start_mark, like.end_mark)


def _sequence(like: yaml.Node, items: list[yaml.Node]) -> yaml.SequenceNode:
    return yaml.SequenceNode(like.tag, items, like.start_mark, like.end_mark)


@cache
def _nodes(path: str) -> yaml.Node:
    """The nodes of a built-in file; their marks name it."""
    loader = yaml.SafeLoader(built_in_files(path).read_text())
    loader.name = path
    node = loader.get_single_node()
    assert node is not None, "files that come with kafka-chaos are not empty"
    return node
