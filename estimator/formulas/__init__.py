"""The formulas of the congestion model: pure functions on floats or numpy arrays, one module per subject.

`parameters` (and the regimes), `queueing`, `periodic`, `merging`, `sharing`, `collisions`, `saturation`,
`closed_forms`, `latency`, `empirical`, and `models`, which has them all by name. Sizes are in bytes, times in
seconds, rates in bytes/s. The numbers F1 to F19 and F21 in the docstrings are those of the list of formulas
that the tests pin.
"""

from estimator.formulas.empirical import CorrectionFactor, fit_correction_factor
from estimator.formulas.latency import PortLoad, segmented, segmented_on_path
from estimator.formulas.models import DEFAULT_MODEL, MODEL_NAMES, MODELS
from estimator.formulas.parameters import (
    FABRICS,
    REGIMES,
    Fabric,
    ModelParameters,
    ParameterError,
    Regime,
    regime,
    regime_codes,
)

__all__ = [
    "DEFAULT_MODEL",
    "FABRICS",
    "MODELS",
    "MODEL_NAMES",
    "REGIMES",
    "CorrectionFactor",
    "Fabric",
    "ModelParameters",
    "ParameterError",
    "PortLoad",
    "Regime",
    "fit_correction_factor",
    "regime",
    "regime_codes",
    "segmented",
    "segmented_on_path",
]
