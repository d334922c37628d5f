"""What a topology file may say: every key with its type, unit, default and meaning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Field:
    """One key.

    Attributes
    ----------
    type : str
        ``rate | time | size | count | number | text | choice | flag | section | list | dims | any``.
    doc : str
        Meaning, in a line.
    default : str, int, float, bool or None
        As one would write it in the file; None = left out.
    required : bool
    minimum : int
        Of a count.
    choices : tuple of str
        Of a choice.
    fields : mapping
        Of a section, or of each item of a list of sections.
    source : str
        Where the default comes from.
    """

    type: str
    doc: str
    default: str | int | float | bool | None = None
    required: bool = False
    minimum: int = 1
    choices: tuple[str, ...] = ()
    fields: Mapping[str, Field] = field(default_factory=dict)
    source: str = ""


RULES = ("d-mod-k", "ecmp", "spray", "minimal", "valiant", "dor")

_HOST = {
    "nic": Field("rate", "rate of the host's link", source="defaults to `rate`"),
    "latency": Field("time", "propagation of the host's link and traversal of the device at its end", "300ns",
                     source="400 Gb/s links of the packet-level reference"),
    "overhead": Field("time", "software overhead per message, sender and receiver together", "500ns",
                      source="usual for a user-level MPI; measure your own, `congest calibrate`"),
    "copy": Field("rate", "rate at which eager messages are copied, on top of their way over the network",
                  source="no limit"),
    "rendezvous": Field("time", "what a message above `eager_limit_bytes` costs more than `overhead`", "0ns"),
}  # fmt: skip
_INTRA_NODE = {
    "rate": Field("rate", "copy rate between ranks on one host", "100GB/s", source="order of a DDR5 socket"),
    "latency": Field("time", "latency between ranks on one host", "300ns", source="shared-memory MPI"),
}
_BACKGROUND = {
    "ports": Field("text", "pattern of port names (`leaf*→spine*` or `leaf*->spine*`) or a level"),
    "rho": Field("number", "load of each such port, from 0 to below 1"),
    "matrix": Field("text", "instead of these two: a CSV file with the columns source, destination (hosts) and rate"),
    "message_bytes": Field("size", "what an arrival brings; default one MTU"),
    "cv_sq": Field("number", "squared coefficient of variation of its inter-arrival times; 1 = Poisson"),
    "burst": Field("count", "n messages at once every period, instead of random arrivals", 0, minimum=0),
    "peak": Field("number", "rate of a burst in multiples of the port's; default all at once"),
}

COMMON: dict[str, Field] = {
    "kind": Field("text", "kind of topology", required=True),
    "name": Field("text", "a name for reports", source="the kind"),
    "rate": Field("rate", "rate of every link without one of its own", "400Gb/s", source="NDR, 400GbE"),
    "switch_latency": Field("time", "propagation and switch traversal of a link between switches", "500ns",
                            source="400 Gb/s links of the packet-level reference"),
    "host": Field("section", "the hosts' links and software", fields=_HOST),
    "intra_node": Field("section", "messages that stay on one host", fields=_INTRA_NODE),
    "mtu": Field("size", "packet payload", "4096B", source="InfiniBand MTU"),
    "buffer": Field("size", "buffer of a switch port", "4MiB", source="InfiniBand switches: 2 to 16 MB"),
    "fabric": Field("choice", "what happens when a buffer is full", "infiniband",
                    choices=("infiniband", "roce", "tcp")),
    "switching": Field("choice", "when a switch starts to forward a packet", "store-and-forward",
                       choices=("store-and-forward", "cut-through"), source="as the packet-level reference"),
    "routing": Field("text", "routing rule: " + ", ".join(RULES), source="depends on the kind"),
    "seed": Field("count", "seed of hashed routing", 1, minimum=0),
    "failed_links": Field("any", "links that are down: `[leaf0, spine1]` or `leaf0-spine1`, with wildcards;"
                          " `spine1#2` names one of several parallel links"),
    "routes": Field("any", "explicit routes: lists of node names from source to destination host"),
    "background": Field("list", "steady traffic of others", fields=_BACKGROUND),
    "parameters": Field("any", "model parameters by name, as `--set` gives them (which wins), such as"
                        " `{eager_limit_bytes: 16KiB}`"),
    "include": Field("text", "another file, or list of files, whose keys apply where this one says nothing"),
}  # fmt: skip

_LEVEL = {
    "down": Field("count", "children of each switch of this level", required=True),
    "up": Field("count", "uplink ports of each switch (0 or left out at the top)", minimum=0),
    "parallel": Field("count", "links to each parent", 1),
    "oversubscription": Field("number", "capacity down ÷ capacity up, instead of `up`"),
    "rate": Field("rate", "rate of each uplink", source="defaults to `rate`"),
    "latency": Field("time", "latency of each uplink", source="defaults to `switch_latency`"),
}
_LINK = {
    "a": Field("text", "one end; a range such as h[0-7] makes a link for each", required=True),
    "b": Field("text", "the other end", required=True),
    "rate": Field("rate", "rate per direction", source="host link: `host.nic`; else `rate`"),
    "latency": Field("time", "latency", source="host link: `host.latency`; else `switch_latency`"),
    "count": Field("count", "parallel links", 1),
}
_TORUS = {
    "dims": Field("dims", "routers per dimension, the fastest-varying first: [8, 8, 4] or 8x8x4", required=True),
    "hosts_per_router": Field("count", "hosts on each router", 1),
}

KINDS: dict[str, dict[str, Field]] = {
    "single-switch": {"hosts": Field("count", "hosts on the switch", required=True)},
    "fat-tree": {
        "k": Field("count", "ports per switch of a three-level k-ary fat-tree (k³/4 hosts); even", minimum=2),
        "hosts_per_edge": Field("count", "hosts per edge switch of a k-ary tree", source="k/2"),
        "leaves": Field("count", "leaf switches of a leaf–spine network"),
        "hosts_per_leaf": Field("count", "hosts per leaf"),
        "spines": Field("count", "spine switches"),
        "links_per_spine": Field("count", "parallel links from each leaf to each spine", 1),
        "levels": Field("list", "levels from the hosts up (extended generalised fat tree)", fields=_LEVEL),
        "oversubscription": Field("number", "host capacity ÷ uplink capacity of a leaf, instead of `spines`;"
                                  " of a k-ary tree, instead of `hosts_per_edge`"),
        "uplink_rate": Field("rate", "rate of the links between switches", source="defaults to `rate`"),
    },
    "dragonfly": {
        "a": Field("count", "routers per group", required=True),
        "p": Field("count", "hosts per router", required=True),
        "h": Field("count", "global links per router", required=True),
        "groups": Field("count", "groups", source="a·h+1"),
        "local_rate": Field("rate", "rate of links inside a group", source="defaults to `rate`"),
        "global_rate": Field("rate", "rate of links between groups", source="defaults to `rate`"),
        "local_latency": Field("time", "latency of links inside a group", source="as `switch_latency`"),
        "global_latency": Field("time", "latency of links between groups", source="as `switch_latency`"),
    },
    "torus": _TORUS,
    "mesh": _TORUS,
    "rail-optimized": {
        "nodes": Field("count", "GPU nodes", required=True),
        "gpus_per_node": Field("count", "GPUs per node, each with a NIC on a rail of its own", 8),
        "nodes_per_leaf": Field("count", "nodes that share the leaf of a rail", source="all"),
        "spines": Field("count", "spines that join the leaves; 0 = traffic between rails goes through the"
                        " node's internal switch to the GPU on the right rail", 0, minimum=0),
        "links_per_spine": Field("count", "parallel links from each leaf to each spine", 1),
        "uplink_rate": Field("rate", "rate of the links between leaf and spine", source="defaults to `rate`"),
        "nvlink": Field("rate", "rate between a GPU and the node's internal switch, per direction", "450GB/s",
                        source="NVLink 4"),
        "nvlink_latency": Field("time", "latency of that link", "300ns"),
    },
    "custom": {
        "hosts": Field("any", "host names (ranges such as h[0-7]), or how many: 8 means h0 to h7"),
        "switches": Field("any", "switch names"),
        "links": Field("list", "links", fields=_LINK),
        "file": Field("text", "a graph instead of hosts, switches and links: .graphml, or a .csv edge list"),
    },
    "ideal": {"hosts": Field("count", "hosts", source="as many as asked for")},
}  # fmt: skip

ALIASES = {"leaf-spine": "fat-tree", "rail": "rail-optimized", "rail-optimised": "rail-optimized"}

# A file states one kind; what is common may also be given on each.
for _kind, _fields in KINDS.items():
    KINDS[_kind] = {**COMMON, **{key: replace(value) for key, value in _fields.items()}}


def schema_rows(kind: str | None = None) -> list[tuple[str, str, str, str, str]]:
    """Rows (key, type, default, source, meaning) for the documentation.

    Parameters
    ----------
    kind : str, optional
        One kind's own keys; None = the keys common to all.
    """
    fields = COMMON if kind is None else {k: v for k, v in KINDS[kind].items() if k not in COMMON}
    rows: list[tuple[str, str, str, str, str]] = []

    def add(prefix: str, table: Mapping[str, Field]) -> None:
        for key, item in table.items():
            default = "required" if item.required else "" if item.default is None else str(item.default)
            kind_text = " | ".join(item.choices) if item.choices else item.type
            rows.append((prefix + key, kind_text, default, item.source, item.doc))
            add(f"{prefix}{key}{'[].' if item.type == 'list' else '.'}", item.fields)

    add("", fields)
    return rows
