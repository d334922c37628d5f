"""Names, defaults and checks of the model parameters, setting them by name, and the regimes."""

from __future__ import annotations

import math
from dataclasses import asdict

import numpy as np
import pytest

from estimator.formulas import ModelParameters, ParameterError, regime, regime_codes

DEFAULTS = {
    "low_load_threshold_rho": 0.3,
    "congestion_threshold_rho": 0.5,
    "saturation_threshold_rho": 0.7,
    "arrival_cv_sq": 4.0,
    "service_cv_sq": 0.0,
    "buffer_size_bytes": 4194304,
    "mtu_bytes": 4096,
    "multihop_safety_factor": 1.0,
    "fabric": "infiniband",
}


def test_names_and_defaults() -> None:
    assert DEFAULTS.items() <= asdict(ModelParameters()).items()


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("buffer_size_bytes", "4MiB", 4 << 20),
        ("buffer_size_bytes", "2MB", 2_000_000),
        ("buffer_size_bytes", " 16384 ", 16384),
        ("mtu_bytes", "2KiB", 2048),
        ("saturation_threshold_rho", "0.9", 0.9),
        ("arrival_cv_sq", "1e1", 10.0),
        ("fabric", "RoCE", "roce"),
    ],
)
def test_set_by_name(name: str, text: str, value: object) -> None:
    assert asdict(ModelParameters().replaced(**{name: text})) == {**asdict(ModelParameters()), name: value}


def test_thresholds_may_move_together() -> None:
    moved = ModelParameters().replaced(low_load_threshold_rho="0.8", congestion_threshold_rho="0.8",
                                       saturation_threshold_rho="0.9")  # fmt: skip
    assert regime(0.79, moved) == "low"


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("bufer_size", "4MiB", r"'bufer_size'; did you mean 'buffer_size_bytes'\?"),
        ("fabrik", "tcp", r"did you mean 'fabric'\?"),
        ("low_load_threshold_rho", "0.6", r"must be ordered.*found 0\.6, 0\.5 and 0\.7"),
        ("saturation_threshold_rho", "1.2", r"must be ordered"),
        ("low_load_threshold_rho", "nan", r"must be ordered"),
        ("arrival_cv_sq", "-1", r"arrival_cv_sq must be a finite number, zero or more; found -1"),
        ("service_cv_sq", "inf", r"service_cv_sq must be a finite number"),
        ("multihop_safety_factor", "two", r"multihop_safety_factor: found 'two'; expected a number"),
        ("buffer_size_bytes", "4Mib", r"buffer_size_bytes: .*write 4?MiB|buffer_size_bytes: .*MiB"),
        ("buffer_size_bytes", "0", r"buffer_size_bytes: .*greater than zero"),
        ("mtu_bytes", "-4096B", r"mtu_bytes: .*greater than zero"),
        ("fabric", "ethernet", r"fabric must be one of infiniband, roce, tcp; found 'ethernet'"),
    ],
)
def test_what_cannot_be_set(name: str, text: str, says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        ModelParameters().replaced(**{name: text})


def test_values_are_checked_without_text() -> None:
    with pytest.raises(ParameterError, match="buffer_size_bytes must be greater than zero; found 0"):
        ModelParameters(buffer_size_bytes=0)
    with pytest.raises(ParameterError, match="mtu_bytes must be greater than zero"):
        ModelParameters(mtu_bytes=0)
    assert ModelParameters(buffer_size_bytes=math.inf).buffer_size_bytes == math.inf


@pytest.mark.parametrize(
    ("rho", "name"),
    [(0, "low"), (0.2999, "low"), (0.3, "transition"), (0.6999, "transition"), (0.7, "congested"), (31, "congested")],
)
def test_regimes(rho: float, name: str) -> None:
    assert regime(rho, ModelParameters()) == name


def test_regimes_of_many_loads() -> None:
    assert regime_codes(np.array([0.0, 0.3, 0.5, 0.7, 2.0]), ModelParameters()).tolist() == [0, 1, 1, 2, 2]
