"""The keys that all kinds share, read from a checked section."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from estimator.topology.errors import ConfigError
from estimator.topology.fabric import Background, Common
from estimator.topology.tree import Node
from estimator.topology.validate import Section

MAX_LINKS = 20_000_000


@dataclass(frozen=True)
class Settings:
    """Shared settings: rates in bytes/s, latencies in s."""

    common: Common
    rate: float
    nic_rate: float
    host_latency: float
    switch_latency: float


def read_settings(section: Section, source: str) -> Settings:
    """Collect the shared keys; `source` names the file or shorthand."""
    host, intra = section["host"], section["intra_node"]
    background = []
    for item in section["background"] or ():
        background.append(_read_background(item, source))
    common = Common(
        name=section["name"] or "",
        host_overhead_s=host["overhead"],
        intra_node_rate=intra["rate"],
        intra_node_latency_s=intra["latency"],
        mtu_bytes=section["mtu"],
        buffer_bytes=section["buffer"],
        fabric=section["fabric"],
        switching=section["switching"],
        seed=section["seed"],
        background=tuple(background),
        source=source,
        host_copy_rate=host["copy"] or math.inf,
        host_rendezvous_s=host["rendezvous"],
        parameters=read_parameters(section["parameters"]),
    )
    rate = section["rate"]
    return Settings(common, rate, host["nic"] or rate, host["latency"], section["switch_latency"])


def _read_background(item: Section, source: str) -> Background:
    """One entry of `background`: a load on ports, or a traffic matrix beside the topology file."""
    peak = np.inf if item["peak"] is None else item["peak"]
    if not peak > 1:
        raise item.error("peak", "a rate above the port's", "bursts slower than the port do not queue")
    shape = (item["message_bytes"], item["cv_sq"], item["burst"], peak)
    if item.require_one(("ports", "matrix"), "who is loaded") == "matrix":
        if item.given("rho"):
            raise item.error("rho", "no such key beside 'matrix'", "the file gives the rates")
        return Background("", 0.0, *shape, matrix=str(Path(source).parent / item["matrix"]))
    if not item.given("rho"):
        raise item.error("rho", "the key 'rho' (load of each port)", "add 'rho: 0.3'")
    if not item["rho"] < 1:
        raise item.error("rho", "a load below 1", "a port cannot carry more than its capacity for ever")
    return Background(item["ports"], item["rho"], *shape)


# Parameters with a key of their own.
_KEY_OF = {"buffer_size_bytes": "buffer", "mtu_bytes": "mtu", "fabric": "fabric"}


def read_parameters(node: Node | None) -> dict[str, str]:
    """Model parameters by name, as text; a wrong name or value is an error at its line."""
    from estimator.formulas.parameters import ModelParameters, ParameterError

    if node is None:
        return {}
    if not isinstance(node.value, dict):
        raise node.error("a mapping of model parameters", found=f"parameters: {node.shown()}")
    found: dict[str, str] = {}
    for name, child in node.value.items():
        if name in _KEY_OF:
            key = _KEY_OF[name]
            raise child.error(f"the key '{key}' of the topology", f"write '{key}: …' instead", f"parameter {name}")
        if isinstance(child.value, dict | list | bool | type(None)):
            raise child.error("a number or a size", found=f"{name}: {child.shown()}")
        found[name] = str(child.value)
    try:
        ModelParameters().replaced(**found)
    except ParameterError as error:
        # Thresholds are checked together; the message names what is wrong.
        name = next((name for name in found if name in str(error)), "")
        child = node.value.get(name, node)
        shown = f"{name}: {found[name]}" if name else "parameters"
        raise ConfigError(child.path, child.line, shown, "model parameters as --set takes them", str(error)) from None
    return found


def check_size(section: Section, link_count: int) -> None:
    """Refuse a network that would not fit in memory before it is built."""
    if link_count > MAX_LINKS:
        raise ConfigError(
            section.node.path, section.node.line, f"a network of {link_count:,} links",
            f"at most {MAX_LINKS:,}", "make it smaller",
        )  # fmt: skip
