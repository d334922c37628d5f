"""Ports that get more than they can send: lossless incast, victims, head-of-line blocking, loss (F16–F18).

The fabrics differ in what a full buffer does. `infiniband`: senders run out of credit and pause, the queue
grows upstream. `roce`: the same, from half of the buffer on, and a pause stops every flow of the paused
link. `tcp`: packets are lost and a sender waits for its retransmission time-out. In a lossless fabric the
hot port itself stays busy and degrades only linearly; what falls off a cliff is TCP, and the victims whose
links are paused.
"""

from __future__ import annotations

import numpy as np

from estimator.formulas.parameters import Fabric
from estimator.formulas.values import Result, Values, as_array, as_given

TCP_RETRANSMISSION_TIMEOUT_S = 0.2  # least value that common stacks use
ROCE_PAUSE_SHARE = 0.5  # share of the buffer at which pause frames go out

HEAD_OF_LINE_LIMIT = 2 - np.sqrt(2)
_HEAD_OF_LINE_BY_PORTS = (1.0, 0.75, 0.6825, 0.6553, 0.6399, 0.6302, 0.6234, 0.6184)


def incast_finish(sources: Values, size_bytes: Values, capacity: Values) -> Result:
    """Time until the last of n equal messages is through one port, s: nS/C, each at rate C/n.

    Validity: credits or PFC (no loss), the port never idle. Linear in n: there is no step in it.
    Source (F16): arithmetic.
    """
    return as_given(as_array(sources) * size_bytes / capacity)


def usable_buffer(fabric: Fabric, buffer_size_bytes: Values) -> Result:
    """Bytes that queue before senders are paused (lossless) or packets are lost (TCP)."""
    return as_given(as_array(buffer_size_bytes) * (ROCE_PAUSE_SHARE if fabric == "roce" else 1.0))


def buffer_fill_time(fabric: Fabric, sources: Values, buffer_size_bytes: Values, capacity: Values) -> Result:
    """Time from the start of an incast to the first pause or loss, s: B/((n−1)C), half of it for RoCE.

    Validity: n senders at the port's own rate C and longer than that; infinite for one sender. Eight senders
    of 400 Gb/s fill 4 MB in 11.4 µs (80 µs is what emptying it takes).
    Source (F16): arithmetic. Checked: test_formulas_saturation (queue stepped packet by packet).
    """
    surplus = (as_array(sources) - 1) * capacity
    with np.errstate(divide="ignore"):
        return as_given(usable_buffer(fabric, buffer_size_bytes) / np.maximum(surplus, 0.0))


def overflows(fabric: Fabric, burst_bytes: Values, rho: Values, buffer_size_bytes: Values) -> Result:
    """Whether a burst that arrives at ρ times the port's capacity queues more than the buffer takes.

    The queue is longest when the burst has arrived: burst·(1 − 1/ρ) bytes, none up to ρ = 1.

    Validity: fluid, constant rates, buffer empty before, one buffer per port.
    Checked: test_formulas_saturation (queue stepped packet by packet).
    """
    load = np.maximum(as_array(rho), 1.0)
    return as_given(as_array(burst_bytes) * (1 - 1 / load) > usable_buffer(fabric, buffer_size_bytes))


def saturated_time(
    fabric: Fabric,
    size_bytes: Values,
    capacity: Values,
    flows: Values,
    buffer_size_bytes: Values,
    burst_bytes: Values,
    rho: Values,
) -> Result:
    """Least time of a message through a saturated port, s: MF/C, plus one time-out where TCP loses packets.

    Parameters
    ----------
    fabric : str
        ``infiniband``, ``roce`` or ``tcp``.
    size_bytes : float or array
        M.
    capacity : float or array
        C of the port, bytes/s.
    flows : float or array
        F flows that share it.
    buffer_size_bytes, burst_bytes : float or array
        Buffer of the port, and all that merges there in the step, the message included.
    rho : float or array
        Offered load.

    Notes
    -----
    Validity: for the flows that go *through* the hot port. Flows that only cross paused links are
    victims: `victim_rate`. TCP: repeated time-outs and partial loss are not modelled, so the time is a
    lower estimate of a collapse. Source (F16): arithmetic; time-out: RFC 6298 asks for 1 s, common stacks
    use 200 ms. Checked: test_formulas_saturation (lossless: arithmetic; TCP: not against measurements).
    """
    shared = as_array(size_bytes) * flows / capacity
    if fabric != "tcp":
        return as_given(shared)
    lost = overflows(fabric, burst_bytes, rho, buffer_size_bytes)
    return as_given(shared + TCP_RETRANSMISSION_TIMEOUT_S * lost)


def saturated_rate(
    fabric: Fabric, capacity: Values, flows: Values, buffer_size_bytes: Values, burst_bytes: Values
) -> Result:
    """Rate that each of F equal flows gets from a port they saturate, β_eff_saturated, bytes/s.

    C/F in a lossless fabric. With TCP, once the burst of F senders at line rate overflows the buffer,
    (burst/F) / (burst/C + time-out): the port sends, then idles until the retransmission.

    Arguments, validity and source as `saturated_time`. Checked: test_formulas_saturation.
    """
    share = as_array(burst_bytes) / flows
    time = saturated_time(fabric, share, capacity, flows, buffer_size_bytes, burst_bytes, flows)
    with np.errstate(invalid="ignore"):
        return as_given(np.where(share > 0, share / time, as_array(capacity) / flows))


def saturated_total_rate(hot_share: Values, hot_rate: Values, capacity: Values) -> Result:
    """Rate of a whole link of which a share h waits for a hot port, bytes/s: min(C, r_hot/h).

    Parameters
    ----------
    hot_share : float or array
        h, share of the link's bytes that go to the hot port.
    hot_rate : float or array
        r_hot, rate at which the hot port takes them from this link, bytes/s.
    capacity : float or array
        C of the link, bytes/s.

    Notes
    -----
    Validity: lossless, FIFO, one traffic class, hot and other packets mixed evenly, long bursts. No harm
    while h ≤ r_hot/C. TCP drops the hot packets instead, and has no such victims.
    Source (F17): head-of-line blocking of a mixed FIFO. Checked: test_formulas_saturation (simulation).
    """
    with np.errstate(divide="ignore"):
        return as_given(np.minimum(capacity, as_array(hot_rate) / hot_share))


def victim_rate(hot_share: Values, hot_rate: Values, capacity: Values) -> Result:
    """Rate left for the flows of a link that do not go to the hot port, bytes/s: (1−h)·min(C, r_hot/h).

    Arguments, validity and source as `saturated_total_rate` (F17).
    """
    return as_given((1 - as_array(hot_share)) * saturated_total_rate(hot_share, hot_rate, capacity))


def head_of_line_limit(ports: int) -> float:
    """Share of its capacity that an input-queued switch with one FIFO per input carries at most.

    0.75 with two ports, 0.655 with four, 0.618 with eight, 2−√2 = 0.586 in the limit.

    Validity: saturated inputs, destinations uniform and random, packets of one size; above eight ports an
    interpolation in 1/ports. Source (F18): Karol, Hluchyj and Morgan 1987.
    Checked: test_formulas_saturation (exact for two ports, simulation for four, eight and sixteen).
    """
    known = len(_HEAD_OF_LINE_BY_PORTS)
    if ports <= known:
        return _HEAD_OF_LINE_BY_PORTS[ports - 1]
    return float(HEAD_OF_LINE_LIMIT + (_HEAD_OF_LINE_BY_PORTS[-1] - HEAD_OF_LINE_LIMIT) * known / ports)
