"""Record the MPI calls of a program: the recording library, and how a program is started with it."""

from vef.capture.errors import CaptureError
from vef.capture.run import Recorder, check_raw_folder, describe_exit, prepare, run_recorded

__all__ = ["CaptureError", "Recorder", "check_raw_folder", "describe_exit", "prepare", "run_recorded"]
