"""Drawings of networks: trees in layers, tori as grids, dragonflies as groups on a circle."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from estimator.topology.errors import ConfigError
from estimator.topology.fabric import Fabric
from estimator.units import format_rate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SHOWN_HOSTS = 64
_LABELLED = 24
_BEHIND_TEXT = {"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.8}
_COLOURS = ("#7f8c8d", "#2d6cb4", "#b4552d", "#2d9c6a", "#8e5bb4", "#b4a22d")


def draw(
    fabric: Fabric, path: str | Path, port_values: ArrayLike | None = None, value_label: str = "utilisation"
) -> None:
    """Draw a network to an image file (.svg, .png or .pdf).

    Above 64 hosts, the hosts of a switch are one mark with their number.

    Parameters
    ----------
    port_values : float[P], optional
        Colours the links (the larger of the two directions), for a congestion map.
    value_label : str
        What the values are.

    Raises
    ------
    ConfigError
        For an ending that is no image format, or a network without links.
    """
    import matplotlib as mpl
    from matplotlib.collections import LineCollection
    from matplotlib.figure import Figure

    target = Path(path)
    if target.suffix not in (".svg", ".png", ".pdf"):
        raise ConfigError(str(path), None, f"the ending '{target.suffix}'", "one of .svg, .png, .pdf")
    if fabric.port_count == 0:
        raise ConfigError(str(path), None, "a network without links", "a topology with links to draw")
    position = _positions(fabric)
    figure = Figure(figsize=(13, 8), layout="constrained")
    axes = figure.add_subplot()
    collapsed = fabric.host_count > _SHOWN_HOSTS
    ports = np.arange(0, fabric.port_count, 2)
    if collapsed:
        at_host = (fabric.port_from[ports] < fabric.host_count) | (fabric.port_to[ports] < fabric.host_count)
        ports = ports[~at_host]
    if fabric.kind in ("torus", "mesh"):
        ports, ends = _grid_lines(fabric, position, ports)
    else:
        ends = np.stack([position[fabric.port_from[ports]], position[fabric.port_to[ports]]], axis=1)
    # Lines of a grid do not cross, so they need not fade.
    crossing = fabric.kind not in ("torus", "mesh")
    thin = float(np.clip(90 / max(len(ports), 1), 0.18, 0.9)) if crossing else 0.8
    width = 0.4 + 1.2 * thin
    if port_values is None:
        colours = [_COLOURS[(int(level) + 1) % len(_COLOURS)] for level in fabric.level_of[ports]]
        axes.add_collection(LineCollection(list(ends), colors=colours, linewidths=width, alpha=thin, zorder=1))
    else:
        values = np.asarray(port_values, float)
        shown = np.maximum(values[ports], values[ports + 1])
        order = np.argsort(shown, kind="stable")
        lines = LineCollection(list(ends[order]), cmap="viridis", linewidths=width + 0.4, zorder=1)
        lines.set_array(shown[order])
        axes.add_collection(lines)
        figure.colorbar(lines, ax=axes, label=value_label, shrink=0.6)
    _draw_nodes(axes, fabric, position, collapsed)
    axes.set_title(_title(fabric), fontsize=13)
    axes.set_axis_off()
    axes.autoscale_view()
    axes.margins(0.05)
    if fabric.kind in ("torus", "mesh", "dragonfly"):
        axes.set_aspect("equal")
    if len(fabric.structure.get("dims", ())) > 2:
        note = "planes of the first two dimensions; links of the others join the same place in other planes"
        axes.text(0.5, -0.03, note, transform=axes.transAxes, ha="center", va="top", fontsize=9)
    # Without a fixed salt and date, two runs give two different files.
    with mpl.rc_context({"svg.hashsalt": "congest"}):
        metadata = {"Date": None} if target.suffix == ".svg" else None
        try:
            figure.savefig(target, dpi=130, metadata=metadata)
        except OSError as error:
            raise ConfigError(str(path), None, error.strerror or str(error), "a file that can be written") from None


def _title(fabric: Fabric) -> str:
    rates = np.unique(fabric.rate)
    rate = format_rate(rates[0]) if len(rates) == 1 else f"{format_rate(rates[0])} to {format_rate(rates[-1])}"
    label = fabric.name if fabric.name == fabric.kind else f"{fabric.name} ({fabric.kind})"
    parts = [
        f"{fabric.host_count:,} hosts",
        f"{fabric.switch_count:,} switches",
        f"{fabric.link_count:,} links of {rate}",
    ]
    return f"{label}: " + ", ".join(parts)


def _positions(fabric: Fabric) -> NDArray[np.float64]:
    if fabric.kind in ("torus", "mesh"):
        return _grid(fabric)
    if fabric.kind == "dragonfly":
        return _circle(fabric)
    return _layers(fabric)


def _hosts_around(fabric: Fabric, position: NDArray[np.float64], radius: float) -> None:
    """Put hosts near their router: in a fan that points away from the links."""
    hosts = fabric.host_count
    per_router = fabric.structure.get("hosts_per_router") or fabric.structure["p"]
    router = hosts + np.arange(hosts) // per_router
    spread = np.arange(hosts) % per_router - (per_router - 1) / 2
    if fabric.kind == "dragonfly":
        centre = position[hosts:].reshape(fabric.structure["groups"], -1, 2).mean(axis=1)
        group = (router - hosts) // fabric.structure["a"]
        direction = position[router] - centre[group] + 1e-9
        angle = np.arctan2(direction[:, 1], direction[:, 0])
    else:
        angle = np.full(hosts, np.pi / 4)
    angle = angle + spread * min(0.5, 2.0 / per_router)
    position[:hosts] = position[router] + radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)


def _grid(fabric: Fabric) -> NDArray[np.float64]:
    """Dimension 0 to the right, 1 upwards; further dimensions as copies of the plane, side by side."""
    dims, hosts = fabric.structure["dims"], fabric.host_count
    index = np.arange(fabric.switch_count)
    width, height = dims[0], dims[1] if len(dims) > 1 else 1
    plane = index // (width * height)
    planes = int(plane[-1]) + 1
    columns = int(np.ceil(np.sqrt(planes * height / width))) if planes > 1 else 1
    position = np.zeros((fabric.node_count, 2))
    position[hosts:, 0] = index % width + plane % columns * (width + 1.5)
    position[hosts:, 1] = index // width % height - plane // columns * (height + 1.5)
    _hosts_around(fabric, position, 0.35)
    return position


def _grid_lines(
    fabric: Fabric, position: NDArray[np.float64], ports: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Lines of a grid: a link that closes a ring as a stub at both ends; links between planes left out."""
    level = np.array(fabric.level_names)[fabric.level_of[ports]]
    ports = ports[np.isin(level, ("host-router", "dim0", "dim1"))]
    ends = np.stack([position[fabric.port_from[ports]], position[fabric.port_to[ports]]], axis=1)
    along = ends[:, 1] - ends[:, 0]
    length = np.linalg.norm(along, axis=1, keepdims=True)
    wraps = (length > 1.5).ravel()
    # The link leaves the first end away from the second, on the other side of the plane.
    stub = 0.45 * along[wraps] / length[wraps]
    first = np.stack([ends[wraps, 0], ends[wraps, 0] - stub], axis=1)
    second = np.stack([ends[wraps, 1], ends[wraps, 1] + stub], axis=1)
    return np.concatenate([ports[~wraps], ports[wraps], ports[wraps]]), np.concatenate([ends[~wraps], first, second])


def _circle(fabric: Fabric) -> NDArray[np.float64]:
    shape, hosts = fabric.structure, fabric.host_count
    a, groups = shape["a"], shape["groups"]
    index = np.arange(fabric.switch_count)
    around = np.pi / 2 - 2 * np.pi * (index // a) / groups
    # Neighbouring groups are 2πR/g apart.
    size = min(2.2, 0.38 * 2 * np.pi * 6 / groups) if groups > 1 else 2.2
    inner = around + np.pi - 2 * np.pi * (index % a + 0.5) / a
    position = np.zeros((fabric.node_count, 2))
    position[hosts:] = 6 * np.stack([np.cos(around), np.sin(around)], axis=1)
    position[hosts:] += size * np.stack([np.cos(inner), np.sin(inner)], axis=1)
    _hosts_around(fabric, position, 0.4 * size)
    return position


def _row_of(fabric: Fabric) -> NDArray[np.int64]:
    """Row of each node: its tier; the switches inside GPU nodes go below the hosts."""
    row = fabric.tier.astype(np.int64)
    if fabric.kind == "rail-optimized":
        inner = np.array([name.startswith("nvswitch") for name in fabric.node_names])
        row[inner] = -1
    return row


def _layers(fabric: Fabric) -> NDArray[np.float64]:
    row = _row_of(fabric)
    position = np.zeros((fabric.node_count, 2))
    for value in np.unique(row):
        nodes = np.flatnonzero(row == value)
        position[nodes, 0] = (np.arange(len(nodes)) + 0.5) / len(nodes)
        position[nodes, 1] = value
    return position


def _draw_nodes(axes: Axes, fabric: Fabric, position: NDArray[np.float64], collapsed: bool) -> None:
    hosts, layered = fabric.host_count, fabric.kind not in ("torus", "mesh", "dragonfly")
    row = _row_of(fabric)
    style: dict[str, Any] = {"zorder": 3, "linewidths": 0.6, "edgecolors": "#333333"}
    for value in np.unique(row[hosts:]):
        nodes = hosts + np.flatnonzero(row[hosts:] == value)
        size = float(np.clip(9000 / max(len(nodes), 1), 14, 170))
        axes.scatter(
            position[nodes, 0], position[nodes, 1], s=size, marker="s", color=_COLOURS[1 + value % 5], **style
        )
        few = len(nodes) <= (_LABELLED if layered else 72)
        for node in nodes if few else ():
            offset = (0, 9) if value > 0 else (0, -15)
            axes.annotate(
                fabric.node_names[node], position[node], offset, textcoords="offset points",
                ha="center", fontsize=7.5 if len(nodes) <= 16 else 6, zorder=4, bbox=_BEHIND_TEXT,
            )  # fmt: skip
        if layered:
            names = [fabric.node_names[node] for node in nodes]
            stems = {re.sub(r"[\d.*]*$", "", name) for name in names}
            label = f"{len(nodes)} × {stems.pop()}" if len(stems) == 1 else f"{len(nodes)} switches"
            axes.text(-0.02, value, label, ha="right", va="center", fontsize=10)
    if not collapsed:
        size = float(np.clip(2400 / hosts, 12, 60))
        axes.scatter(position[:hosts, 0], position[:hosts, 1], s=size, color="white", **style)
        if hosts <= 32:
            for host in range(hosts):
                axes.annotate(
                    fabric.node_names[host], position[host], (0, -11), textcoords="offset points",
                    ha="center", fontsize=7, zorder=4,
                )  # fmt: skip
        if layered:
            axes.text(-0.02, 0, f"{hosts} hosts", ha="right", va="center", fontsize=10)
        return
    if layered:
        _draw_collapsed_hosts(axes, fabric, position)
    else:
        per_router = fabric.structure.get("hosts_per_router") or fabric.structure["p"]
        axes.text(
            0.5, 0.0, f"{per_router} host{'s' if per_router > 1 else ''} on each router",
            transform=axes.transAxes, ha="center", va="top", fontsize=10,
        )  # fmt: skip


def _draw_collapsed_hosts(axes: Axes, fabric: Fabric, position: NDArray[np.float64]) -> None:
    """One mark per leaf, under it, with the number of its hosts."""
    hosts, row = fabric.host_count, _row_of(fabric)
    ports = np.flatnonzero((fabric.port_to < hosts) & (row[fabric.port_from] == 1))
    leaves, count = np.unique(fabric.port_from[ports], return_counts=True)
    x = position[leaves, 0]
    axes.vlines(x, 0, 1, colors=_COLOURS[0], linewidth=0.6, zorder=1)
    axes.scatter(
        x,
        np.zeros(len(x)),
        s=float(np.clip(6000 / len(x), 10, 60)),
        color="white",
        edgecolors="#333333",
        zorder=3,
    )
    if len(x) <= _LABELLED * 2:
        for where, n in zip(x, count, strict=True):
            axes.annotate(f"×{n}", (where, 0), (0, -13), textcoords="offset points", ha="center", fontsize=8)
    per_leaf = f"{count.min()}" if count.min() == count.max() else f"{count.min()} to {count.max()}"
    axes.text(-0.02, 0, f"{hosts:,} hosts\n({per_leaf} per switch)", ha="right", va="center", fontsize=10)
    if (row < 0).any():
        axes.vlines(position[row < 0, 0], -1, 0, colors=_COLOURS[0], linewidth=0.6, zorder=1)
