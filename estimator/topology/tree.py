"""YAML as a tree of values that remember their file and line, with includes merged."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from estimator.topology.errors import ConfigError


@dataclass(frozen=True)
class Node:
    """A value and where it was written.

    Attributes
    ----------
    value : scalar, list of Node, or dict of str to Node
        The content; scalars are str, int, float, bool or None as YAML reads them.
    path : str
        File, or the shorthand text.
    line : int or None
        From 1.
    """

    value: Any
    path: str
    line: int | None

    def error(self, expected: str, hint: str = "", found: str | None = None) -> ConfigError:
        """Make the error that points at this value."""
        return ConfigError(self.path, self.line, found or self.shown(), expected, hint)

    def shown(self) -> str:
        """What was written, briefly and with its type where that is the mistake."""
        if isinstance(self.value, dict):
            return "a mapping"
        if isinstance(self.value, list):
            return f"a list of {len(self.value)}"
        if self.value is None:
            return "nothing"
        return f"'{self.value}'" if isinstance(self.value, str) else f"{self.value}"


def _convert(node: yaml.Node, path: str, loader: yaml.SafeLoader) -> Node:
    line = node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode):
        items: dict[str, Node] = {}
        for key_node, value_node in node.value:
            key, key_line = str(key_node.value), key_node.start_mark.line + 1
            if key in items:
                raise ConfigError(
                    path, key_line, f"'{key}' a second time (first on line {items[key].line})",
                    "every key once", "remove one of the two",
                )  # fmt: skip
            value = _convert(value_node, path, loader)
            # An error about a block is best shown at its key, not at the block's first line.
            items[key] = Node(value.value, path, key_line)
        return Node(items, path, line)
    if isinstance(node, yaml.SequenceNode):
        return Node([_convert(child, path, loader) for child in node.value], path, line)
    scalar = loader.construct_object(node)
    if not isinstance(scalar, (str, int, float, bool, type(None))):
        scalar = str(node.value)
    return Node(scalar, path, line)


def parse_yaml(text: str, path: str) -> Node:
    """Parse one document.

    Raises
    ------
    ConfigError
        For text that is not YAML, a duplicate key, or a document that is not a mapping.
    """
    loader = yaml.SafeLoader(text)
    try:
        root = loader.get_single_node()
        if root is None:
            raise ConfigError(path, 1, "an empty file", "a topology", "start with a line such as 'kind: fat-tree'")
        tree = _convert(root, path, loader)
    except RecursionError:
        raise ConfigError(path, 1, "an alias that contains itself", "a tree of values") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise ConfigError(path, mark.line + 1 if mark else None, error.problem or "bad YAML", "valid YAML") from None
    except yaml.YAMLError as error:
        raise ConfigError(path, None, str(error).splitlines()[0], "valid YAML") from None
    finally:
        loader.dispose()
    if not isinstance(tree.value, dict):
        raise tree.error("a mapping of keys such as 'kind: fat-tree'")
    return tree


def merge(under: Node, over: Node) -> Node:
    """Put one tree under another: where both have a key that is no mapping, the one above wins."""
    if not (isinstance(under.value, dict) and isinstance(over.value, dict)):
        return over
    merged = dict(under.value)
    for key, node in over.value.items():
        merged[key] = merge(merged[key], node) if key in merged else node
    return Node(merged, over.path, over.line)


def load_yaml(path: Path, *, shown: str | None = None, chain: tuple[Path, ...] = ()) -> Node:
    """Read a file and merge its ``include`` (one file or a list) under it: the file's own keys win.

    Raises
    ------
    ConfigError
        For unreadable or invalid YAML, or an include that leads back to itself.
    """
    name = shown or str(path)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(name, None, error.strerror or str(error), "a readable YAML file") from None
    except UnicodeDecodeError as error:
        raise ConfigError(name, None, f"a byte that is not UTF-8 at {error.start}", "UTF-8 text") from None
    tree = parse_yaml(text, name)
    include = tree.value.pop("include", None)
    if include is None:
        return tree
    chain = (*chain, path.resolve())
    entries = include.value if isinstance(include.value, list) else [include]
    for entry in reversed(entries):
        if not isinstance(entry.value, str):
            raise entry.error("a file name, or a list of file names")
        target = path.parent / entry.value
        if target.resolve() in chain:
            raise entry.error("a file that does not include this one again", "remove one of the includes")
        if not target.is_file():
            raise entry.error("an existing file, relative to this one", f"looked for {target}")
        tree = merge(load_yaml(target, chain=chain), tree)
    return tree
