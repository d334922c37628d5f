"""Replay of a workload over a network: the dependency scheduler and the port model in one event loop."""
