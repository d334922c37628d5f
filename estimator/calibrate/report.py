"""The result of a calibration as a document of plain values: base units, the same for the same input."""

from __future__ import annotations

from typing import Any

from estimator.calibrate.calibrate import Calibration
from estimator.calibrate.contention import CollectivePoints
from estimator.calibrate.fit import EagerLimit, Fitted, Residuals
from estimator.calibrate.measurements import Series

SCHEMA_VERSION = 1


def document(found: Calibration) -> dict[str, Any]:
    """The whole result: what was fitted, every measured row beside the model, notes, warnings and the YAML text."""
    fitted, contention = found.fitted, found.contention
    return {
        "schema_version": SCHEMA_VERSION,
        "files": list(found.sources),
        "route": {"text": found.route.text, "latency_s": found.route.latency_s},
        "fitted": {
            "overhead_s": _value(fitted.overhead_s),
            "alpha_s": _value(fitted.alpha_s),
            "rate": _value(fitted.rate),
            "copy_s_per_byte": _value(fitted.copy_s_per_byte),
            "rendezvous_s": _value(fitted.rendezvous_s),
            "eager_limit_bytes": _limit(fitted.eager_limit),
            "empirical_flow_exponent": _value(contention.flow_exponent),
            "empirical_load_exponent": _value(contention.load_exponent),
        },
        "series": [{**_series(one.series), "rows": _rows(one)} for one in fitted.residuals],
        "collectives": [{**_series(one.series), "rows": _collective_rows(one)} for one in contention.points],
        "notes": list(found.notes),
        "warnings": list(found.warnings),
        "yaml": found.yaml,
    }


def _value(fitted: Fitted | None) -> dict[str, float] | None:
    return None if fitted is None else {"value": fitted.value, "standard_error": fitted.error}


def _limit(limit: EagerLimit | None) -> dict[str, int] | None:
    return None if limit is None else {"value": limit.value, "low": limit.low, "high": limit.high}


def _series(one: Series) -> dict[str, Any]:
    return {
        "path": one.path,
        "line": one.line,
        "tool": one.tool,
        "test": one.title,
        "operation": one.operation,
        "ranks": one.ranks,
    }


def _rows(one: Residuals) -> list[dict[str, Any]]:
    series = one.series
    columns = (series.lines, series.size_bytes, series.time_s, one.model_s, one.error, one.used)
    return [
        {
            "line": line,
            "size_bytes": size,
            "measured_s": measured,
            "model_s": model,
            "measured_rate": size / measured if series.is_rate else None,
            "model_rate": size / model if series.is_rate else None,
            "relative_error": error,
            "used": used,
        }
        for line, size, measured, model, error, used in zip(*(column.tolist() for column in columns), strict=True)
    ]


def _collective_rows(one: CollectivePoints) -> list[dict[str, Any]]:
    columns = (one.lines, one.size_bytes, one.measured_s, one.alpha_beta_s, one.empirical_s, one.segmented_s)
    rows = zip(one.algorithm, *(column.tolist() for column in columns), strict=True)
    return [
        {
            "line": line,
            "size_bytes": size,
            "algorithm": algorithm,
            "measured_s": measured,
            "alpha_beta_s": alpha_beta,
            "empirical_s": empirical,
            "relative_error": empirical / measured - 1.0,
            "segmented_s": segmented,
            "segmented_relative_error": segmented / measured - 1.0,
        }
        for algorithm, line, size, measured, alpha_beta, empirical, segmented in rows
    ]
