"""The spread over ECMP hashes, and the law of collisions against counting."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from estimate_shared import FAT_TREE, LEAF_SPINE, MIB, SINGLE, allreduce, collective, network, run, sends

from estimator.document import document
from estimator.estimate import EstimateError, Options
from estimator.hash_spread import estimate_over_hashes
from vef import Op

ECMP = f"{LEAF_SPINE},routing=ecmp"


def test_every_seed_is_a_run_of_its_own() -> None:
    trace = allreduce(16, 4 * MIB)
    forced = {"allreduce": "recursive_doubling"}
    result = estimate_over_hashes([trace], network(ECMP), Options(seed=5, collectives=forced), 6)
    assert result.hashes is not None
    assert result.hashes.seeds.tolist() == [5, 6, 7, 8, 9, 10]
    alone = [run(trace, ECMP, seed=seed, collectives=forced) for seed in range(5, 11)]
    np.testing.assert_array_equal(result.hashes.makespan_s, [one.makespan_s for one in alone])
    assert result.makespan_s == alone[0].makespan_s
    assert len(set(result.hashes.makespan_s)) > 1
    (row,) = document(result)["collectives"]
    latencies = [document(one)["collectives"][0]["latency_s"] for one in alone]
    assert row["hashes"]["median_s"] == pytest.approx(np.median(latencies))
    assert row["hashes"]["max_s"] == pytest.approx(max(latencies))
    assert row["hashes"]["min_s"] <= row["hashes"]["p95_s"] <= row["hashes"]["max_s"]


def test_law_of_collisions_by_counting() -> None:
    # In round 2 of recursive doubling every host sends to the host four away, in the next leaf: 4 flows of each of
    # four leaves onto 4 uplinks.
    trace = allreduce(16, 4 * MIB)
    result = estimate_over_hashes([trace], network(ECMP), Options(collectives={"allreduce": "recursive_doubling"}), 2)
    law = document(result)["collectives"][0]["hashes"]["collisions"]
    assert (law["flows"], law["uplinks"]) == (4, 4)
    most = [max(placed.count(uplink) for uplink in range(4)) for placed in product(range(4), repeat=4)]
    at_most = np.array([np.mean(np.array(most) <= c) for c in range(5)]) ** 4
    assert law["mean"] == pytest.approx((1 - at_most).sum())
    assert law["p95"] == int(np.argmax(at_most >= 0.95))


def test_busiest_uplink_follows_the_law_over_seeds() -> None:
    trace = collective(Op.ALLTOALL, 16, 1024, 0)
    options = {"alltoall": "pairwise"}
    found, means = [], []
    for seed in range(200):
        law = estimate_over_hashes([trace], network(ECMP), Options(seed=seed, collectives=options), 1).hashes
        assert law is not None
        assert law.collisions[0] is not None
        found.append(law.collisions[0].here)
        means.append(law.collisions[0].mean)
    assert len(set(means)) == 1
    assert np.mean(found) == pytest.approx(means[0], abs=4 * np.std(found) / np.sqrt(len(found)))


def test_no_law_without_a_choice() -> None:
    near = estimate_over_hashes([allreduce(4, MIB)], network(ECMP), Options(), 2)
    assert document(near)["collectives"][0]["hashes"]["collisions"] is None
    assert near.hashes is not None
    assert len(set(near.hashes.makespan_s)) == 1


def test_other_routing_is_refused() -> None:
    with pytest.raises(EstimateError, match="does not hash"):
        estimate_over_hashes([sends(2, [(0, 1, MIB)])], network(SINGLE), Options(), 4)
    estimate_over_hashes([sends(2, [(0, 1, MIB)])], network(FAT_TREE), Options(routing="ecmp"), 2)
