"""One-line topologies such as ``fat-tree:k=8,rate=100Gb/s``."""

from __future__ import annotations

from typing import Any

import yaml

from estimator.topology.errors import ConfigError, nearest
from estimator.topology.schema import ALIASES, KINDS
from estimator.topology.tree import Node

EXAMPLES = (
    "single-switch:hosts=64", "fat-tree:k=8", "leaf-spine:leaves=4,hosts=8,spines=4", "dragonfly:a=4,p=2,h=2",
    "torus:8x8x4", "mesh:8x8", "rail-optimized:nodes=16,gpus=8", "ideal",
)  # fmt: skip

_SHORT_KEYS = {
    "leaf-spine": {"hosts": "hosts_per_leaf", "links": "links_per_spine"},
    "fat-tree": {"hosts": "hosts_per_edge"},
    "torus": {"hosts": "hosts_per_router"},
    "mesh": {"hosts": "hosts_per_router"},
    "rail-optimized": {"gpus": "gpus_per_node"},
    "dragonfly": {"g": "groups"},
}
_BARE = {"single-switch": "hosts", "torus": "dims", "mesh": "dims", "fat-tree": "k", "ideal": "hosts"}


def _scalar(text: str) -> Any:
    value = yaml.safe_load(text) if text else None
    return value if isinstance(value, (str, int, float, bool)) else text


def parse_shorthand(text: str) -> Node:
    """Turn a shorthand into the tree that a file would have given.

    Parameters
    ----------
    text : str
        ``kind`` or ``kind:key=value,…``; keys inside sections with a point (``host.overhead=1us``).

    Raises
    ------
    ConfigError
        For an unknown kind (the message lists the kinds) or a part that is not ``key=value``.
    """
    shown, _, rest = text.strip().partition(":")
    kind = ALIASES.get(shown, shown)
    if kind not in KINDS or kind == "custom":
        known = [*KINDS, *ALIASES]
        hint = f"{nearest(shown, known)} shorthands: {', '.join(EXAMPLES)}"
        raise ConfigError(text, None, f"'{shown}'", "an existing topology file or a shorthand", hint)
    root: dict[str, Node] = {"kind": Node(kind, text, None)}
    for part in filter(None, (part.strip() for part in rest.split(","))):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals and kind in _BARE:
            key, value = _BARE[kind], key
        elif not equals or not value:
            raise ConfigError(text, None, f"'{part}'", "key=value", f"for example {_example(shown)}")
        table = _SHORT_KEYS.get(shown) or _SHORT_KEYS.get(kind, {})
        key = table.get(key, key)
        target = root
        *sections, last = key.split(".")
        for name in sections:
            section = target.setdefault(name, Node({}, text, None))
            if not isinstance(section.value, dict):
                raise ConfigError(text, None, f"'{key}'", f"'{name}' once", "give each key once")
            target = section.value
        if last in target:
            raise ConfigError(text, None, f"'{key}' a second time", "every key once")
        target[last] = Node(_scalar(value), text, None)
    return Node(root, text, None)


def _example(kind: str) -> str:
    return next((example for example in EXAMPLES if example.startswith(kind)), EXAMPLES[1])
