"""What a trace holds, and what it does on an ideal network: counts, sizes, who talks to whom, the critical path."""

from vef.summary.document import document, render_csv, schema_text
from vef.summary.matrix import matrix_csv, matrix_npz
from vef.summary.summary import Summary, summarise

__all__ = [
    "Summary",
    "document",
    "matrix_csv",
    "matrix_npz",
    "render_csv",
    "schema_text",
    "summarise",
]
