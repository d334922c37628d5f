"""Parameters of the congestion model, how they are set by name, and the three regimes that they divide."""

from __future__ import annotations

import difflib
import math
from dataclasses import dataclass, fields, replace
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from estimator.formulas.values import Values, as_array
from estimator.units import UnitError, parse_size

Fabric: TypeAlias = Literal["infiniband", "roce", "tcp"]
Regime: TypeAlias = Literal["low", "transition", "congested"]

FABRICS: tuple[Fabric, ...] = get_args(Fabric)
REGIMES: tuple[Regime, ...] = get_args(Regime)


# A correction factor that grows faster than this with the load is a slip of the pen.
MOST_EXPONENT = 10


class ParameterError(ValueError):
    """A model parameter with an unknown name or a value that it cannot have."""


@dataclass(frozen=True)
class ModelParameters:
    """Parameters of the congestion model; they are checked when they are made.

    Attributes
    ----------
    low_load_threshold_rho : float
        End of the low regime.
    congestion_threshold_rho : float
        Above it the burstiness of arrivals counts.
    saturation_threshold_rho : float
        Start of the congested regime, where a step is marked "run G5". One value for every fabric is a
        default, not a law.
    arrival_cv_sq : float
        c_a², squared coefficient of variation of inter-arrival times, where it cannot be measured.
    service_cv_sq : float
        c_s², the same of service times.
    buffer_size_bytes : float
        Buffer of a switch port; ``math.inf`` for one that never fills.
    mtu_bytes : int
        Packet payload.
    multihop_safety_factor : float
        Multiplies the summed wait of several hops.
    fabric : str
        ``infiniband``, ``roce`` or ``tcp``.
    eager_limit_bytes : int
        Largest message whose send is done at once; a larger one completes with its transfer. The default is
        what blocking sends over UCX have (`UCX_RNDV_THRESH=auto`); TCP has about 64 KiB.
    empirical_flow_exponent, empirical_load_exponent : float
        Of the `empirical` model, see `estimator.formulas.empirical.CorrectionFactor`.

    Raises
    ------
    ParameterError
        When the thresholds are out of order or outside 0…1, or a value is out of its range.
    """

    low_load_threshold_rho: float = 0.3
    congestion_threshold_rho: float = 0.5
    saturation_threshold_rho: float = 0.7
    arrival_cv_sq: float = 4.0
    service_cv_sq: float = 0.0
    buffer_size_bytes: float = 4 * 1024**2
    mtu_bytes: int = 4096
    multihop_safety_factor: float = 1.0
    fabric: Fabric = "infiniband"
    eager_limit_bytes: int = 262144
    empirical_flow_exponent: float = 1.0
    empirical_load_exponent: float = 0.0

    def __post_init__(self) -> None:
        low, congested, saturated = (
            self.low_load_threshold_rho, self.congestion_threshold_rho, self.saturation_threshold_rho,
        )  # fmt: skip
        if not 0 <= low <= congested <= saturated <= 1:
            raise ParameterError(
                "the thresholds must be ordered, 0 <= low_load_threshold_rho <= congestion_threshold_rho <= "
                f"saturation_threshold_rho <= 1; found {low:g}, {congested:g} and {saturated:g}"
            )
        for name in (
            "arrival_cv_sq", "service_cv_sq", "multihop_safety_factor",
            "empirical_flow_exponent", "empirical_load_exponent",
        ):  # fmt: skip
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise ParameterError(f"{name} must be a finite number, zero or more; found {value:g}")
        if not self.buffer_size_bytes > 0:
            raise ParameterError(f"buffer_size_bytes must be greater than zero; found {self.buffer_size_bytes:g}")
        if not (math.isfinite(self.mtu_bytes) and self.mtu_bytes > 0):
            raise ParameterError(f"mtu_bytes must be greater than zero; found {self.mtu_bytes:g}")
        for name in ("empirical_flow_exponent", "empirical_load_exponent"):
            if getattr(self, name) > MOST_EXPONENT:
                raise ParameterError(f"{name} must be at most {MOST_EXPONENT}; found {getattr(self, name):g}")
        if not self.eager_limit_bytes >= 0:
            raise ParameterError(f"eager_limit_bytes must be zero or more; found {self.eager_limit_bytes:g}")
        if self.fabric not in FABRICS:
            raise ParameterError(f"fabric must be one of {', '.join(FABRICS)}; found '{self.fabric}'")

    def as_dict(self) -> dict[str, float | int | str]:
        """Return the values by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def replaced(self, **text: str) -> ModelParameters:
        """Return a copy with parameters set by name from text, as ``--set NAME=VALUE`` gives it.

        Parameters
        ----------
        **text : str
            Sizes with or without a unit (``4MiB``, ``4194304``; the name says bytes), other values as plain
            numbers, the fabric by name.

        Raises
        ------
        ParameterError
            For an unknown name (the nearest one is named), text that cannot be read, or a value out of range.
        """
        known = [field.name for field in fields(self)]
        values: dict[str, object] = {}
        for name, value in text.items():
            if name not in known:
                close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
                guess = f"did you mean '{close[0]}'? " if close else ""
                raise ParameterError(f"there is no parameter '{name}'; {guess}known: {', '.join(known)}")
            values[name] = _read(name, value)
        return replace(self, **values)  # type: ignore[arg-type]


def _read(name: str, text: str) -> object:
    if name == "fabric":
        return text.strip().lower()
    if name.endswith("_bytes"):
        stripped = text.strip()
        if name == "eager_limit_bytes" and stripped.isdecimal() and int(stripped) == 0:
            return 0  # no message is eager; zero has no unit
        if name == "buffer_size_bytes" and stripped.lower() in ("inf", "unlimited"):
            return math.inf
        # The name already says bytes, so a bare number leaves nothing open here.
        try:
            return parse_size(f"{stripped}B" if stripped.isdecimal() else text)
        except UnitError as error:
            raise ParameterError(f"{name}: {error}") from error
    try:
        return float(text)
    except ValueError as error:
        raise ParameterError(f"{name}: found '{text}'; expected a number such as 0.5") from error


def regime_codes(rho: Values, params: ModelParameters) -> NDArray[np.intp]:
    """Return the index into `REGIMES` for every load; a load on a border belongs to the regime above it."""
    borders = (params.low_load_threshold_rho, params.saturation_threshold_rho)
    return np.searchsorted(as_array(borders), as_array(rho), side="right")


def regime(rho: float, params: ModelParameters) -> Regime:
    """Return the regime of one offered load.

    Parameters
    ----------
    rho : float
        Offered load of the worst merging port, Σ flow rates / capacity; may exceed 1.
    params : ModelParameters
        Thresholds.

    Returns
    -------
    str
        ``low`` below `low_load_threshold_rho`, ``congested`` from `saturation_threshold_rho` on,
        ``transition`` between.
    """
    return REGIMES[int(regime_codes(rho, params))]
