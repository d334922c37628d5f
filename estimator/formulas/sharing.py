"""How flows share links: processor sharing, the bottleneck of equal flows, max-min rates, worst flow count."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from estimator.formulas.values import Result, Values, as_array, as_given

Routes = Sequence[Sequence[int]]  # for every flow, the indices of the links that it crosses

_TIE = 1e-12  # links or flows closer than this, relatively, bind or finish together


def stretch(flows: Values, flows_at_full_rate: Values) -> Result:
    """How many times longer a transfer takes on a link with F flows, of which C go at full rate: max(1, F/C).

    Validity: exact for equal sizes and one bottleneck. Source: LoGPC (Moritz and Frank 1998).
    """
    return as_given(np.maximum(1.0, as_array(flows) / flows_at_full_rate))


def processor_sharing_time(alone_s: Values, rho: Values) -> Result:
    """Mean time of a transfer among others that come and go and share fairly, s: x/(1−ρ).

    Parameters
    ----------
    alone_s : float or array
        x, its time with the link to itself, s.
    rho : float or array
        Load of the others; infinite from 1 on. A steady background load of ρ_bg gives M/(C(1−ρ_bg)).

    Notes
    -----
    Validity: long flows (many packets), fair sharing, Poisson starts, any size distribution. For FIFO
    ports and short messages use a queue. Source (F11): Kleinrock 1967; Sakata, Noguchi and Oizumi 1971.
    Checked: test_formulas_sharing (simulation).
    """
    with np.errstate(divide="ignore"):
        return as_given(as_array(alone_s) / np.maximum(1 - as_array(rho), 0))


def bottleneck_time(link_bytes: ArrayLike, capacity: ArrayLike) -> float:
    """Time of a step of equal flows that start together, s: the largest bytes_l/C_l over all links.

    Parameters
    ----------
    link_bytes, capacity : array
        Bytes that the step sends over each link, and bytes/s of each link (NICs included).

    Notes
    -----
    Validity: fluid, fixed routes. Exact, and what max-min sharing gives, for flows of equal size; a lower
    bound (up to 22 % low) for others, where `fluid_finish_times` is exact.
    Source (F13): the last bottleneck of progressive filling is busy from start to end.
    Checked: test_formulas_sharing (random cases against `fluid_finish_times`).
    """
    loads = as_array(link_bytes) / as_array(capacity)
    return float(loads.max(initial=0.0))


def worst_count_times(sizes_bytes: ArrayLike, routes: Routes, capacity: ArrayLike) -> NDArray[np.float64]:
    """Times of flows from the worst flow count on each route, s: M · max over its links of (count_l/C_l).

    Validity: equal sizes and one bottleneck; with unequal sizes 2.4 times max-min on average, so only as
    the `static` baseline. Source (F14): LoGPC. Checked: test_formulas_sharing (never below max-min).
    """
    flow, link = _flatten(routes)
    capacities = as_array(capacity)
    per_byte = np.bincount(link, minlength=capacities.size) / capacities
    worst = np.zeros(len(routes))
    np.maximum.at(worst, flow, per_byte[link])
    return as_array(sizes_bytes) * worst


def _flatten(routes: Routes) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    lengths = [len(route) for route in routes]
    links = [link for route in routes for link in route]
    return np.repeat(np.arange(len(routes)), lengths), np.asarray(links, dtype=np.intp)


def max_min_rates(routes: Routes, capacity: ArrayLike) -> NDArray[np.float64]:
    """Max-min fair rates of flows on fixed routes, bytes/s, by progressive filling.

    Parameters
    ----------
    routes : sequence of sequence of int
        Links of every flow. A flow's own rate limit is one more link that only it crosses.
    capacity : array
        Bytes/s of each link.

    Returns
    -------
    array
        Rate of each flow; infinite for a flow without links.

    Notes
    -----
    Validity: fluid. Source: Bertsekas and Gallager, Data Networks, 1992, section 6.5.
    Checked: test_formulas_sharing (every flow has a saturated link on which none is faster).
    """
    flow, link = _flatten(routes)
    return _fill(flow, link, as_array(capacity), np.ones(len(routes), bool))


def _fill(
    flow: NDArray[np.intp], link: NDArray[np.intp], capacity: NDArray[np.float64], taking_part: NDArray[np.bool_]
) -> NDArray[np.float64]:
    rates = np.where(taking_part, np.inf, 0.0)
    left = capacity.copy()
    open_pair = taking_part[flow]
    while open_pair.any():
        count = np.bincount(link[open_pair], minlength=left.size)
        share = np.full(left.size, np.inf)
        np.divide(left, count, out=share, where=count > 0)
        fair = share.min()
        full = share <= fair * (1 + _TIE)
        stopped = np.zeros(rates.size, bool)
        stopped[flow[open_pair & full[link]]] = True
        rates[stopped] = fair
        stopping = open_pair & stopped[flow]
        left = np.maximum(left - fair * np.bincount(link[stopping], minlength=left.size), 0.0)
        open_pair &= ~stopping
    return rates


def fluid_finish_times(
    sizes_bytes: ArrayLike, routes: Routes, capacity: ArrayLike, starts_s: ArrayLike = 0.0
) -> NDArray[np.float64]:
    """When each flow ends if the rates are max-min fair at every moment, s.

    Parameters
    ----------
    sizes_bytes : array
        Bytes of each flow.
    routes : sequence of sequence of int
        Links of each flow, as in `max_min_rates`.
    capacity : array
        Bytes/s of each link.
    starts_s : float or array
        When each flow starts, s.

    Notes
    -----
    Validity: fluid (no packets, no latency), fair sharing at once. Cost: one filling per start or end, so
    meant for hundreds of flows. Source (F13): progressive filling between events.
    Checked: test_formulas_sharing (one bottleneck by hand, byte conservation, `bottleneck_time`).
    """
    flow, link = _flatten(routes)
    sizes, capacities = as_array(sizes_bytes), as_array(capacity)
    starts = np.broadcast_to(as_array(starts_s), sizes.shape)
    left, finish = sizes.copy(), np.full(sizes.shape, np.nan)
    now = float(starts.min(initial=0.0))
    while np.isnan(finish).any():
        active = np.isnan(finish) & (starts <= now)
        rates = _fill(flow, link, capacities, active)
        needed = np.full(sizes.shape, np.inf)
        needed[active] = np.where(left[active] > 0, left[active] / rates[active], 0.0)
        coming = starts[np.isnan(finish) & ~active]
        until_start = coming.min() - now if coming.size else np.inf
        duration = min(needed.min(), until_start)
        ended = active & (needed <= duration * (1 + _TIE))
        left[active] -= np.where(needed[active] > 0, rates[active] * duration, 0.0)
        now = float(coming.min()) if until_start <= duration else now + duration
        left = np.maximum(left, 0.0)
        finish[ended] = now
    return finish


def throughput_bound(unit_loads: ArrayLike, capacity: ArrayLike) -> float:
    """Largest injection that a network carries, in units of the injection that made the loads: 1/γ_max.

    Parameters
    ----------
    unit_loads : array
        Bytes/s on each link when every source injects one unit.
    capacity : array
        Bytes/s of each link; γ = load/capacity.

    Notes
    -----
    Validity: an upper bound; reached with ideal flow control. Source (F19): Dally and Towles 2004.
    Checked: test_formulas_sharing (by hand on a ring).
    """
    busiest = bottleneck_time(unit_loads, capacity)
    return 1 / busiest if busiest > 0 else float("inf")
