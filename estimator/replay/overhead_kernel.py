"""Software time of a message before its first byte is on the network."""

from __future__ import annotations

from estimator.replay.tables import Tables, settings_of
from vef.compiled import kernel_part


@kernel_part
def overhead_of(t: Tables, size: float) -> float:
    """Overhead, s: eager messages are copied, larger ones wait for the receiver's answer (LogGOPS: o + O·M, S)."""
    settings = settings_of(t)[0]
    if size > settings.eager_limit_bytes:
        return settings.overhead_s + settings.rendezvous_s
    return settings.overhead_s + size * settings.copy_s_per_byte
