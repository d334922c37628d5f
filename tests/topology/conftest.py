"""The fixture that runs a test on one network of every kind."""

import pytest
from topology_shared import SMALL

from estimator.topology import Fabric, load_topology


@pytest.fixture(params=SMALL)
def small(request: pytest.FixtureRequest) -> Fabric:
    return load_topology(request.param)
