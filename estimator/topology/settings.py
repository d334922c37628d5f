"""The keys that all kinds share, read from a checked section."""

from __future__ import annotations

from dataclasses import dataclass

from estimator.topology.errors import ConfigError
from estimator.topology.fabric import Background, Common
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
        if not item["rho"] < 1:
            raise item.error("rho", "a load below 1", "a port cannot carry more than its capacity for ever")
        background.append(Background(item["ports"], item["rho"], item["message_bytes"], item["cv_sq"]))
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
    )
    rate = section["rate"]
    return Settings(common, rate, host["nic"] or rate, host["latency"], section["switch_latency"])


def check_size(section: Section, link_count: int) -> None:
    """Refuse a network that would not fit in memory before it is built."""
    if link_count > MAX_LINKS:
        raise ConfigError(
            section.node.path, section.node.line, f"a network of {link_count:,} links",
            f"at most {MAX_LINKS:,}", "make it smaller",
        )  # fmt: skip
