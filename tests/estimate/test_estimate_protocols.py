"""Eager messages are copied, larger ones wait for an answer first: `host.copy`, `host.rendezvous`, `parameters`."""

from __future__ import annotations

import pytest
from estimate_shared import HOST_S, MODELS, MTU, OVERHEAD_S, RATE, SINGLE, network, sends

from estimator.estimate import Options, estimate
from estimator.topology import ConfigError, load_topology
from estimator.topology.export import export

COPY, RENDEZVOUS_S, EAGER = 5e9, 2e-6, 16384
PROTOCOLS = f"{SINGLE},host.copy=5GB/s,host.rendezvous=2us,parameters.eager_limit_bytes={EAGER}"


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("size", [0, 1, 4096, EAGER, EAGER + 1, 1 << 20])
def test_a_lone_message_takes_what_its_protocol_costs(model: str, size: int) -> None:
    result = estimate([sends(2, [(0, 1, size)])], network(PROTOCOLS), Options(model=model))
    protocol_s = size / COPY if size <= EAGER else RENDEZVOUS_S
    expected = OVERHEAD_S + protocol_s + 2 * HOST_S + (size + min(size, MTU)) / RATE
    assert result.makespan_s == pytest.approx(expected, rel=1e-9)


def test_set_wins_over_the_topology() -> None:
    options = Options(parameters={"eager_limit_bytes": "1MiB"})
    result = estimate([sends(2, [(0, 1, 1 << 20)])], network(PROTOCOLS), options)
    expected = OVERHEAD_S + (1 << 20) / COPY + 2 * HOST_S + ((1 << 20) + MTU) / RATE
    assert result.makespan_s == pytest.approx(expected, rel=1e-9)


def test_a_rendezvous_holds_back_what_is_posted_after_it_by_its_own_time_only() -> None:
    """Two large messages of one sender are agreed on at the same time, so the second does not pay again."""
    size = 1 << 20
    one, two = (estimate([sends(2, [(0, 1, size)] * count)], network(PROTOCOLS)).makespan_s for count in (1, 2))
    assert two - one == pytest.approx(size / RATE, rel=1e-9)


def test_protocols_survive_export(tmp_path) -> None:
    target = tmp_path / "network.yaml"
    export(network(PROTOCOLS), target)
    again = load_topology(str(target))
    assert (again.host_copy_rate, again.host_rendezvous_s) == (COPY, RENDEZVOUS_S)
    assert again.parameters == {"eager_limit_bytes": str(EAGER)}


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("parameters: {mtu_bytes: 2048}", 3, "write 'mtu: …' instead"),
        ("parameters:\n  eager_limit: 8192", 4, "eager_limit_bytes"),
        ("parameters:\n  eager_limit_bytes: 8192\n  arrival_cv_sq: -1", 5, "zero or more"),
        ("parameters: 4", 3, "a mapping of model parameters"),
        ("parameters: {arrival_cv_sq: [1]}", 3, "a number or a size"),
        ("host: {copy: 10}", 3, "bits or bytes"),
        ("host: {rendezvous: -1us}", 3, "not negative"),
    ],
)
def test_errors_name_the_line(tmp_path, text: str, line: int, message: str) -> None:
    path = tmp_path / "network.yaml"
    path.write_text(f"kind: single-switch\nhosts: 4\n{text}\n")
    with pytest.raises(ConfigError) as caught:
        load_topology(str(path))
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert message in str(caught.value)


@pytest.mark.parametrize("buffer", ["4MiB", "64KiB"], ids=["queues fit", "credits run out"])
def test_a_rendezvous_delays_an_incast_once(buffer: str) -> None:
    """Both senders wait for their answers at the same time, whatever then happens at the port."""
    trace = sends(3, [(0, 2, 1 << 20), (1, 2, 1 << 20)])
    plain, agreed = (
        estimate([trace], network(f"{SINGLE},buffer={buffer},host.rendezvous={time}")).makespan_s
        for time in ("0ns", "2us")
    )
    # Only messages above the eager limit, 256 KiB by default, pay it.
    assert agreed - plain == pytest.approx(RENDEZVOUS_S, rel=1e-6)
