"""The fitted parameters as a file that a topology includes."""

from __future__ import annotations

from collections.abc import Sequence

from estimator.calibrate.contention import Contention
from estimator.calibrate.fit import Fitted, PointToPoint
from estimator.units import format_size, format_time


def yaml_text(fitted: PointToPoint, contention: Contention, sources: Sequence[str], route_text: str) -> str:
    """YAML with the keys that were fitted, each with its standard error; only these are in it."""
    host: list[str] = []
    if fitted.rate:
        host.append(f"  nic: {_rate(fitted.rate.value)}  # {_spread(fitted.rate)}")
    if fitted.overhead_s:
        host.append(f"  overhead: {_time(fitted.overhead_s.value)}  # ± {format_time(fitted.overhead_s.error)}")
    if fitted.copy_s_per_byte and fitted.copy_s_per_byte.value > 0:
        copy = Fitted(
            1 / fitted.copy_s_per_byte.value, fitted.copy_s_per_byte.error / fitted.copy_s_per_byte.value**2
        )
        host.append(f"  copy: {_rate(copy.value)}  # {_spread(copy)}")
    if fitted.rendezvous_s and fitted.rendezvous_s.value > 0:
        host.append(f"  rendezvous: {_time(fitted.rendezvous_s.value)}  # ± {format_time(fitted.rendezvous_s.error)}")
    parameters: list[str] = []
    if fitted.eager_limit:
        limit = fitted.eager_limit
        between = f"at least {format_size(limit.low)}, below {format_size(limit.high)}"
        parameters.append(f"  eager_limit_bytes: {limit.value}B  # {between}")
    for name in ("flow", "load"):
        exponent = getattr(contention, f"{name}_exponent")
        if exponent is not None:
            how = f"± {exponent.error:.2g}" if exponent.error else "held"
            parameters.append(f"  empirical_{name}_exponent: {exponent.value:.4f}  # {how}")
    if not (host or parameters):
        return ""
    lines = ["# Fitted by congest calibrate from", *(f"#   {_comment(source)}" for source in sources)]
    if host:
        lines += [f"# Wires and switches taken off: {_comment(route_text)}", "host:", *host]
    if parameters:
        lines += ["parameters:", *parameters]
    return "\n".join(lines) + "\n"


def _comment(text: str) -> str:
    """A file name may hold anything; a comment ends with its line."""
    return "".join(character if character.isprintable() else "?" for character in text)


def _rate(bytes_per_s: float) -> str:
    return f"{bytes_per_s * 8e-9:.6g}Gb/s"


def _time(seconds: float) -> str:
    return f"{seconds * 1e9:.6g}ns"


def _spread(fitted: Fitted) -> str:
    return f"± {fitted.error / fitted.value:.1%}"
