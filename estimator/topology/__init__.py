"""Networks: built from YAML or a shorthand, routed in bulk, described and drawn."""

from estimator.topology.errors import ConfigError
from estimator.topology.fabric import Background, Fabric
from estimator.topology.load import load_topology
from estimator.topology.routing import Routes, routes, routing_fabric
from estimator.topology.spray import spray_fabric

__all__ = [
    "Background",
    "ConfigError",
    "Fabric",
    "Routes",
    "load_topology",
    "routes",
    "routing_fabric",
    "spray_fabric",
]
