"""A tree of written values checked against the schema and turned into SI numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from estimator.topology.errors import ConfigError, nearest
from estimator.topology.schema import Field
from estimator.topology.tree import Node
from estimator.units import UnitError, parse_rate, parse_size, parse_time


@dataclass(frozen=True)
class Section:
    """A checked mapping.

    Attributes
    ----------
    values : dict
        Every key of the schema: SI number, text, flag, `Section`, list of `Section`, raw `Node` (type
        ``any``), or None where neither the file nor the schema gives a value.
    nodes : dict
        The keys that were written, with their place.
    node : Node
        The mapping itself.
    """

    values: dict[str, Any]
    nodes: dict[str, Node]
    node: Node

    def __getitem__(self, key: str) -> Any:
        return self.values[key]

    def given(self, key: str) -> bool:
        """Whether the user wrote this key."""
        return key in self.nodes

    def error(self, key: str, expected: str, hint: str = "", found: str | None = None) -> ConfigError:
        """Make an error that points at a key, or at the mapping where the key is not there."""
        node = self.nodes.get(key, self.node)
        if found is None:
            found = f"{key}: {node.shown().strip(chr(39))}" if key in self.nodes else f"no '{key}'"
        return node.error(expected, hint, found)

    def require_one(self, keys: tuple[str, ...], what: str) -> str:
        """Return the one key of several that is given; an error if none or more than one is."""
        given = [key for key in keys if self.given(key)]
        if len(given) == 1:
            return given[0]
        found = "none of them" if not given else " and ".join(f"'{key}'" for key in given)
        raise self.error(given[-1] if given else "", f"one of {', '.join(keys)} ({what})", found=found)


def _count(node: Node, item: Field) -> int:
    value = node.value
    if isinstance(value, bool) or not isinstance(value, int):
        raise node.error("a whole number", "write it without a unit or fraction")
    if value < item.minimum:
        raise node.error(f"a whole number of at least {item.minimum}")
    return value


def _number(node: Node) -> float:
    value = node.value
    # YAML 1.1 reads 1e-3 (no point) as text.
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            raise node.error("a number") from None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value or value < 0:
        raise node.error("a number that is not negative")
    return float(value)


def _text(node: Node) -> str:
    if isinstance(node.value, (dict, list, type(None), bool)):
        raise node.error("a text")
    return str(node.value)


def _choice(node: Node, item: Field) -> str:
    value = _text(node)
    if value not in item.choices:
        raise node.error("one of " + ", ".join(item.choices), nearest(value, item.choices))
    return value


def _flag(node: Node) -> bool:
    if not isinstance(node.value, bool):
        raise node.error("true or false")
    return node.value


def _dims(node: Node) -> tuple[int, ...]:
    parts: list[Any]
    if isinstance(node.value, list):
        parts = [child.value for child in node.value]
    else:
        # YAML 1.1 reads 8x8 as text but 0x8 as the number 8.
        parts = [int(part) if part.isdigit() else part for part in str(node.value).split("x")]
    if not parts or any(isinstance(p, bool) or not isinstance(p, int) or p < 1 for p in parts):
        raise node.error("whole numbers of at least 1, such as [8, 8, 4] or 8x8x4")
    return tuple(parts)


def _quantity(node: Node, parse: Callable[[object], float]) -> float:
    try:
        return parse(node.value if isinstance(node.value, (str, int, float, bool)) else node.shown())
    except UnitError as error:
        raise ConfigError(node.path, node.line, error.found, error.expected, error.hint) from None


def _value(node: Node, item: Field, key: str) -> Any:
    match item.type:
        case "rate":
            return _quantity(node, parse_rate)
        case "time":
            return _quantity(node, parse_time)
        case "size":
            return _quantity(node, parse_size)
        case "count":
            return _count(node, item)
        case "number":
            return _number(node)
        case "text":
            return _text(node)
        case "choice":
            return _choice(node, item)
        case "flag":
            return _flag(node)
        case "dims":
            return _dims(node)
        case "section":
            return read_section(node, item.fields, key)
        case "list":
            if not isinstance(node.value, list) or not node.value:
                raise node.error(
                    f"a list of {key}, each with " + ", ".join(item.fields), found=f"{key}: {node.shown()}"
                )
            return [read_section(child, item.fields, key) for child in node.value]
        case _:
            return node


def read_section(node: Node, fields: Mapping[str, Field], where: str) -> Section:
    """Check a mapping against its fields.

    Raises
    ------
    ConfigError
        For an unknown key (with the nearest known one), a missing key, a wrong type or a bare number.
    """
    if not isinstance(node.value, dict):
        raise node.error(f"a mapping with {', '.join(fields)}", found=f"{where}: {node.shown()}")
    for key, child in node.value.items():
        if key not in fields:
            raise child.error(f"a key of {where}", nearest(key, fields), found=f"the unknown key '{key}'")
    values: dict[str, Any] = {}
    for key, item in fields.items():
        child = node.value.get(key)
        if child is not None:
            values[key] = _value(child, item, key)
        elif item.required:
            example = {"count": "4", "rate": "400Gb/s", "dims": "[8, 8]", "number": "0.3"}.get(item.type, "…")
            raise node.error(
                f"the key '{key}' ({item.doc})", f"add '{key}: {example}'", found=f"{where} without '{key}'"
            )
        elif item.type == "section":
            values[key] = read_section(Node({}, node.path, node.line), item.fields, key)
        else:
            values[key] = None if item.default is None else _value(Node(item.default, "", None), item, key)
    return Section(values, dict(node.value), node)
