"""From a YAML file or a shorthand to a `Fabric`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from estimator.topology.custom import build_custom
from estimator.topology.dragonfly import build_dragonfly
from estimator.topology.errors import ConfigError, nearest
from estimator.topology.exceptions import apply_failures, read_explicit_routes
from estimator.topology.fabric import Fabric
from estimator.topology.fat_tree import build_fat_tree
from estimator.topology.rail_optimized import build_rail_optimized
from estimator.topology.rules import check_rule, default_rule
from estimator.topology.schema import ALIASES, KINDS
from estimator.topology.shorthand import EXAMPLES, parse_shorthand
from estimator.topology.single_switch import build_ideal, build_single_switch
from estimator.topology.torus import build_torus
from estimator.topology.tree import Node, load_yaml, merge
from estimator.topology.validate import Section, read_section

_BUILDERS: dict[str, Callable[[Section, str], Fabric]] = {
    "single-switch": build_single_switch,
    "fat-tree": build_fat_tree,
    "dragonfly": build_dragonfly,
    "torus": build_torus,
    "mesh": build_torus,
    "rail-optimized": build_rail_optimized,
    "custom": build_custom,
    "ideal": build_ideal,
}
_GRAPH_FILES = (".graphml", ".csv")


def load_topology(
    text_or_path: str, *, routing: str | None = None, seed: int | None = None, under: Node | None = None
) -> Fabric:
    """Build the network that a file or a shorthand describes.

    Parameters
    ----------
    text_or_path : str
        A YAML file, a .graphml or .csv graph, or a shorthand such as ``fat-tree:k=8``.
    routing : str, optional
        Rule to use instead of the file's.
    seed : int, optional
        Seed to use instead of the file's.
    under : Node, optional
        Keys that apply where the file or shorthand says nothing, as if it included them.

    Raises
    ------
    ConfigError
        With file, line, what was found, what was expected and what to do.
    """
    text = str(text_or_path)
    tree = _read(text)
    if under is not None:
        tree = merge(under, tree)
    kind_node = tree.value.get("kind")
    if kind_node is None:
        raise tree.error(
            "the key 'kind'", f"add 'kind: fat-tree' (kinds: {', '.join(KINDS)})", "a topology without 'kind'"
        )
    kind = ALIASES.get(str(kind_node.value), str(kind_node.value))
    if kind not in KINDS:
        raise kind_node.error("one of " + ", ".join(KINDS), nearest(kind, [*KINDS, *ALIASES]), f"kind: {kind}")
    tree.value["kind"] = Node(kind, kind_node.path, kind_node.line)
    section = read_section(tree, KINDS[kind], kind)
    fabric = _BUILDERS[kind](section, text)
    if section["failed_links"] is not None:
        fabric = apply_failures(fabric, section["failed_links"])
    if section["routes"] is not None:
        fabric = replace(fabric, explicit_routes=read_explicit_routes(fabric, section["routes"]))
    if routing is not None:
        rule = check_rule(kind, routing, text, None)
    elif section["routing"] is not None:
        node = section.nodes["routing"]
        rule = check_rule(kind, section["routing"], node.path, node.line)
    else:
        rule = default_rule(kind)
    return replace(fabric, routing=rule, seed=fabric.seed if seed is None else seed)


def _read(text: str) -> Node:
    path = Path(text)
    looks_like_file = path.suffix in (".yaml", ".yml", *_GRAPH_FILES) or "/" in text
    if path.is_file():
        if path.suffix in _GRAPH_FILES:
            return Node(
                {"kind": Node("custom", text, None), "file": Node(str(path.resolve()), text, None)},
                text,
                None,
            )
        return load_yaml(path, shown=text)
    if looks_like_file and not _is_shorthand(text):
        what = "a directory" if path.is_dir() else "no such file"
        raise ConfigError(
            text,
            None,
            what,
            "a topology file or a shorthand",
            "check the path; shorthands: " + ", ".join(EXAMPLES),
        )
    return parse_shorthand(text)


def _is_shorthand(text: str) -> bool:
    # A rate such as 100Gb/s has a slash too.
    return text.partition(":")[0] in {*KINDS, *ALIASES}
