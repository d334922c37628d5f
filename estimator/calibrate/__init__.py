"""Parameters of the model from measurements (OSU micro-benchmarks, nccl-tests, CSV), as a YAML file to include."""

from estimator.calibrate.calibrate import Calibration, Setup, calibrate
from estimator.calibrate.measurements import MeasurementError

__all__ = ["Calibration", "MeasurementError", "Setup", "calibrate"]
