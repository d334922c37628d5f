"""Raw captures of MPI programs, and how they become a VEF trace. Knows no terminal."""

from vef.mix.events import Capture, CaptureError
from vef.mix.folder import read_capture
from vef.mix.mix import Mixed, mix_capture

__all__ = ["Capture", "CaptureError", "Mixed", "mix_capture", "read_capture"]
