"""The VEF trace format: read, validate, write, summarise, capture. Knows no network."""
