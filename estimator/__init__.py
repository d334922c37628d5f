"""From a trace and a topology to latency under load. Knows no terminal."""
