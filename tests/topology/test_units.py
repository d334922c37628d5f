import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimator.units import UnitError, format_rate, format_size, format_time, parse_rate, parse_size, parse_time


@pytest.mark.parametrize(
    ("text", "bytes_per_s"),
    [
        ("400Gb/s", 50e9), ("400 Gb/s", 50e9), ("400Gbps", 50e9), ("400Gbit/s", 50e9), ("50GB/s", 50e9),
        ("0.4Tb/s", 50e9), ("8b/s", 1.0), ("1GiB/s", 2.0**30), ("1e3Mb/s", 125e6),
    ],
)  # fmt: skip
def test_rates(text, bytes_per_s):
    assert parse_rate(text) == bytes_per_s


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("300ns", 300e-9), ("1.5us", 1.5e-6), ("2µs", 2e-6), ("3ms", 3e-3), ("0s", 0.0), ("82ps", 82e-12)],
)
def test_times_are_correctly_rounded(text, seconds):
    assert parse_time(text) == seconds


@pytest.mark.parametrize(
    ("text", "size"), [("4096B", 4096), ("4KiB", 4096), ("4kB", 4000), ("4MiB", 4 << 20), ("0.5KiB", 512)]
)
def test_sizes(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize(
    ("parse", "text", "words"),
    [
        (parse_rate, 400, "bits or bytes"),
        (parse_rate, "400", "bits or bytes"),
        (parse_rate, "400G", "does G mean Gb/s"),
        (parse_rate, "400Gb", "write Gb/s"),
        (parse_rate, "400gb/s", "write"),
        (parse_rate, "0Gb/s", "greater than zero"),
        (parse_rate, "-1Gb/s", "greater than zero"),
        (parse_rate, True, "a rate such as"),
        (parse_rate, "fast", "a rate such as"),
        (parse_time, 300, "which unit"),
        (parse_time, "300NS", "write ns"),
        (parse_time, "300h", "units: ps"),
        (parse_size, "4M", "write MB"),
        (parse_size, "4Mb", "capital B"),
        (parse_size, "1.5B", "whole number of bytes"),
        (parse_size, "1e999B", "size such as"),
    ],
)
def test_refused_with_the_reason(parse, text, words):
    with pytest.raises(UnitError, match=words):
        parse(text)


def test_formats():
    assert format_rate(50e9) == "400Gb/s"
    assert format_rate(float("inf")) == "unlimited"
    assert format_time(1.2344e-3) == "1.234ms"
    assert format_time(0.99999e-6) == "1us"
    assert format_time(0) == "0s"
    assert format_size(4 << 20) == "4MiB"
    assert format_size(100) == "100B"


@given(st.integers(1, 9999), st.sampled_from(["b/s", "Mb/s", "Gb/s"]))
def test_a_formatted_rate_reads_back(number, unit):
    value = parse_rate(f"{number}{unit}")
    assert parse_rate(format_rate(value)) == pytest.approx(value, rel=1e-3)
