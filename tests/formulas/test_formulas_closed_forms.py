"""F21 packet by packet, and the collectives' closed forms round by round."""

from __future__ import annotations

import pytest

from estimator.formulas.closed_forms import (
    binomial_bcast_time,
    pairwise_alltoall_time,
    path_time,
    rabenseifner_allreduce_time,
    recursive_doubling_allreduce_time,
    ring_allgather_time,
    ring_allreduce_time,
)

ALPHA, BETA = 2e-6, 1e9


def packet_by_packet(size: float, rates: list[float], latencies: list[float], mtu: float) -> float:
    packets = [mtu] * int(size // mtu) + ([size % mtu] if size % mtu else [])
    free, arrival = [0.0] * len(rates), 0.0
    for packet in packets:
        arrival = 0.0
        for hop, (rate, latency) in enumerate(zip(rates, latencies, strict=True)):
            free[hop] = max(free[hop], arrival) + packet / rate
            arrival = free[hop] + latency
    return arrival


@pytest.mark.parametrize("size", [1, 4096, 40960, 4096 * 300])
@pytest.mark.parametrize("rates", [[1e9], [1e9, 1e9, 1e9], [1e9, 4e9, 2e9], [4e9, 1e9, 2e9]])
def test_path(size: float, rates: list[float]) -> None:
    latencies = [4e-7, 6e-7, 4e-7][: len(rates)]
    assert path_time(size, rates, latencies, 4096) == pytest.approx(packet_by_packet(size, rates, latencies, 4096))


def test_short_last_packet_is_within_one_packet_a_hop() -> None:
    rates, latencies = [4e9, 1e9, 2e9], [0.0] * 3
    exact = packet_by_packet(5000, rates, latencies, 4096)
    assert abs(path_time(5000, rates, latencies, 4096) - exact) <= 4096 / 2e9


def test_halved_bandwidth_doubles_only_the_serialisation() -> None:
    latencies = [4e-7, 6e-7]
    fast, slow = (path_time(1e6, [rate, rate], latencies, 4096) for rate in (2e9, 1e9))
    assert slow - sum(latencies) == pytest.approx(2 * (fast - sum(latencies)))


@pytest.mark.parametrize("ranks", [1, 2, 3, 5, 8, 64])
def test_rounds(ranks: int) -> None:
    size = 3e6
    message = ALPHA + size / BETA
    assert ring_allgather_time(ranks, size, ALPHA, BETA) == pytest.approx(sum(message for _ in range(1, ranks)))
    assert pairwise_alltoall_time(ranks, size, ALPHA, BETA) == pytest.approx(sum(message for _ in range(1, ranks)))
    block = ALPHA + size / ranks / BETA
    assert ring_allreduce_time(ranks, size, ALPHA, BETA) == pytest.approx(sum([block] * (2 * ranks - 2)))
    holders, rounds = 1, 0
    while holders < ranks:
        holders, rounds = 2 * holders, rounds + 1
    assert binomial_bcast_time(ranks, size, ALPHA, BETA) == pytest.approx(rounds * message)


@pytest.mark.parametrize("ranks", [1, 2, 8, 32])
def test_powers_of_two(ranks: int) -> None:
    size, scattering, distance, doublings = 3e6, 0.0, ranks // 2, 0
    part = size
    while distance:
        part, distance, doublings = part / 2, distance // 2, doublings + 1
        scattering += ALPHA + part / BETA
    assert rabenseifner_allreduce_time(ranks, size, ALPHA, BETA) == pytest.approx(2 * scattering)
    expected = doublings * (ALPHA + size / BETA)
    assert recursive_doubling_allreduce_time(ranks, size, ALPHA, BETA) == pytest.approx(expected)


def test_off_powers_of_two() -> None:
    # Two rounds among the four that remain, one to fold the others in and one to tell them.
    assert recursive_doubling_allreduce_time(6, 1e6, ALPHA, BETA) == pytest.approx(4 * (ALPHA + 1e-3))
    with pytest.raises(ValueError, match="power of two of ranks; found 6"):
        rabenseifner_allreduce_time(6, 1e6, ALPHA, BETA)
