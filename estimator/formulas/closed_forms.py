"""Times of whole operations without contention: packets along a path, and the classical collectives.

The collectives take α (start-up of one message, s) and β (bytes/s) and hold where every round is free of
contention and all ranks start together. Reduction arithmetic costs nothing here.
Source: Thakur, Rabenseifner and Gropp 2005; Chan et al. 2007. Checked: test_formulas_closed_forms (rounds
played one by one).
"""

from __future__ import annotations

from collections.abc import Sequence


def path_time(size_bytes: float, rates: Sequence[float], latencies_s: Sequence[float], mtu_bytes: float) -> float:
    """Time of a lone message along store-and-forward hops that pass on packet by packet, s.

    Σ latency + M/C_min + Σ over the other hops min(M, MTU)/C_hop.

    Parameters
    ----------
    size_bytes : float
        M.
    rates : sequence of float
        Bytes/s of each hop, the NIC first.
    latencies_s : sequence of float
        Propagation and switch latency of each hop, s.
    mtu_bytes : float
        Packet payload; for cut-through, what is looked at before it is passed on.

    Notes
    -----
    Validity: exact for whole packets; a short last packet is up to one packet's time per hop off where
    rates differ. M/C is paid once, at the slowest hop, not at each hop.
    Source (F21): pipelining. Checked: test_formulas_closed_forms (packet by packet).
    """
    slowest = min(range(len(rates)), key=rates.__getitem__)
    packet = min(size_bytes, mtu_bytes)
    others = sum(packet / rate for hop, rate in enumerate(rates) if hop != slowest)
    return sum(latencies_s) + size_bytes / rates[slowest] + others


def ring_allreduce_time(ranks: int, size_bytes: float, alpha_s: float, beta: float) -> float:
    """Ring allreduce of S bytes, s: 2(n−1)(α + S/(nβ))."""
    return 2 * (ranks - 1) * (alpha_s + size_bytes / (ranks * beta))


def ring_allgather_time(ranks: int, block_bytes: float, alpha_s: float, beta: float) -> float:
    """Ring allgather (or reduce-scatter) of one block per rank, s: (n−1)(α + block/β)."""
    return (ranks - 1) * (alpha_s + block_bytes / beta)


def recursive_doubling_allreduce_time(ranks: int, size_bytes: float, alpha_s: float, beta: float) -> float:
    """Recursive-doubling allreduce of S bytes, s: log2(n)·(α + S/β), two rounds more off powers of two."""
    doublings = ranks.bit_length() - 1
    rounds = doublings if ranks == 1 << doublings else doublings + 2
    return rounds * (alpha_s + size_bytes / beta)


def rabenseifner_allreduce_time(ranks: int, size_bytes: float, alpha_s: float, beta: float) -> float:
    """Rabenseifner's allreduce on a power of two of ranks, s: 2·log2(n)·α + 2S(n−1)/(nβ)."""
    if ranks & (ranks - 1):
        raise ValueError(f"this closed form needs a power of two of ranks; found {ranks}")
    return 2 * (ranks.bit_length() - 1) * alpha_s + 2 * size_bytes * (ranks - 1) / (ranks * beta)


def binomial_bcast_time(ranks: int, size_bytes: float, alpha_s: float, beta: float) -> float:
    """Binomial broadcast of S bytes, s: ⌈log2 n⌉·(α + S/β)."""
    return (ranks - 1).bit_length() * (alpha_s + size_bytes / beta)


def pairwise_alltoall_time(ranks: int, block_bytes: float, alpha_s: float, beta: float) -> float:
    """Pairwise all-to-all with one block per pair, s: (n−1)(α + block/β)."""
    return (ranks - 1) * (alpha_s + block_bytes / beta)
