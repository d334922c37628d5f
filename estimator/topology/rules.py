"""Which routing rules each kind of network knows."""

from __future__ import annotations

from estimator.topology.errors import ConfigError, nearest
from estimator.topology.schema import RULES

_TREE = ("d-mod-k", "ecmp", "spray")
# The first is the default.
RULES_OF_KIND: dict[str, tuple[str, ...]] = {
    "single-switch": RULES,
    "fat-tree": _TREE,
    "dragonfly": ("minimal", "valiant"),
    "torus": ("dor", "ecmp"),
    "mesh": ("dor", "ecmp"),
    "rail-optimized": _TREE,
    "custom": ("ecmp", "d-mod-k", "spray"),
    "ideal": RULES,
}
_SYNONYMS = {"adaptive": "spray", "dmodk": "d-mod-k", "d_mod_k": "d-mod-k", "xy": "dor"}


def default_rule(kind: str) -> str:
    """Return the rule a kind uses when none is given."""
    return RULES_OF_KIND[kind][0]


def check_rule(kind: str, rule: str, path: str, line: int | None) -> str:
    """Return the rule's own name, or raise `ConfigError` listing the rules that apply to the kind."""
    name = _SYNONYMS.get(rule, rule)
    allowed = RULES_OF_KIND[kind]
    if name not in allowed:
        hint = f"'{name}' does not apply to {kind}" if name in RULES else nearest(rule, RULES)
        raise ConfigError(path, line, f"routing '{rule}'", "one of " + ", ".join(allowed), hint)
    return name
