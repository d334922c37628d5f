"""Traffic matrices of background load: who sends to whom at which rate, as a CSV file."""

from __future__ import annotations

import csv
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from estimator.topology import ConfigError, Fabric
from estimator.units import UnitError, parse_rate

COLUMNS = ("source", "destination", "rate")

# Each pair is a flow of its own in the replay.
MOST_PAIRS = 65536


@dataclass(frozen=True, eq=False)
class TrafficMatrix:
    """Rates between hosts.

    Attributes
    ----------
    source, destination : int32[pairs], hosts
    rate : float64[pairs], bytes/s
    """

    source: NDArray[np.int32]
    destination: NDArray[np.int32]
    rate: NDArray[np.float64]


def read_matrix(path: str, fabric: Fabric) -> TrafficMatrix:
    """Read a CSV file with the columns source, destination (names of hosts) and rate (`10Gb/s`).

    Raises
    ------
    ConfigError
        With the line of what is missing or wrong, or that there is no such file.
    """
    hosts = {name: index for index, name in enumerate(fabric.node_names[: fabric.host_count])}
    try:
        found = _pairs(path, hosts)
    except OSError as error:
        raise ConfigError(
            path, None, (error.strerror or str(error)).lower(), "a readable traffic matrix", "check the name"
        ) from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise ConfigError(
            path, None, f"no CSV text ({error})", f"text in UTF-8 with the columns {', '.join(COLUMNS)}",
            "export the matrix as CSV",
        ) from None  # fmt: skip
    if len(found) > MOST_PAIRS:
        raise ConfigError(
            path, None, f"{len(found):,} pairs of hosts", f"at most {MOST_PAIRS:,}",
            "give the load of ports (PORTS=RHO) instead",
        )  # fmt: skip
    source, destination, rates = zip(*found, strict=True) if found else ((), (), ())
    return TrafficMatrix(np.array(source, np.int32), np.array(destination, np.int32), np.array(rates, np.float64))


def _pairs(path: str, hosts: dict[str, int]) -> list[tuple[int, int, float]]:
    """Source, destination and rate of each line."""
    found: list[tuple[int, int, float]] = []
    with open(path, newline="", encoding="utf-8-sig") as file:
        rows = csv.DictReader(file)
        if not set(COLUMNS) <= set(rows.fieldnames or ()):
            raise ConfigError(
                path, 1, f"the columns {', '.join(rows.fieldnames or ['(none)'])}",
                f"the columns {', '.join(COLUMNS)}",
                "name them in the first line",
            )  # fmt: skip
        for row in rows:
            ends = [(row[name] or "").strip() for name in COLUMNS[:2]]
            for end in ends:
                if end not in hosts:
                    raise ConfigError(
                        path, rows.line_num, f"'{end}'", "a host of the topology", f"hosts are {_shown(list(hosts))}"
                    )
            if ends[0] == ends[1]:
                raise ConfigError(
                    path, rows.line_num, f"'{ends[0]}' twice", "two different hosts", "leave the line out"
                )
            try:
                rate = parse_rate(row["rate"] or "")
            except UnitError as error:
                raise ConfigError(path, rows.line_num, error.found, error.expected, error.hint) from None
            if rate > 0.0:
                found.append((hosts[ends[0]], hosts[ends[1]], rate))
    return found


def _shown(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" … {names[-1]}" if len(names) > 3 else "")
