# ruff: noqa: E501 (tables)
from __future__ import annotations

import time

import pytest

from ragauge.text.numbers import Quantity, agree, quantities


def one(text: str) -> Quantity:
    found = quantities(text)
    assert len(found) == 1, found
    return found[0]


@pytest.mark.parametrize(
    ("text", "value", "unit", "kind"),
    [
        ("1,000", 1000, None, "number"), ("1 000 files", 1000, None, "number"), ("1'000", 1000, None, "number"), ("1.000,5", 1000.5, None, "number"),
        ("1.000.000", 1e6, None, "number"), ("2,5 kg", 2.5, "kg", "measure"), ("3.14", 3.14, None, "number"), ("-5 degrees", -5, None, "number"),
        ("12 %", 12, "%", "percent"), ("12.5 percent", 12.5, "%", "percent"), ("5 per cent", 5, "%", "percent"),
        ("$5", 5, "USD", "money"), ("US$ 3.5 million", 3.5e6, "USD", "money"), ("5 EUR", 5, "EUR", "money"), ("€1,000", 1000, "EUR", "money"), ("20 dollars", 20, "USD", "money"),
        ("1.5 GB", 1.5, "GB", "bytes"), ("512MiB", 512, "MiB", "bytes"), ("4 kilobytes", 4, "kilobytes", "bytes"),
        ("30 minutes", 30, "minutes", "duration"), ("100ms", 100, "ms", "duration"), ("5-minute timeout", 5, "minute", "duration"), ("half an hour", 0.5, "hour", "duration"),
        ("thirty days", 30, "days", "duration"), ("one minute", 1, "minute", "duration"),
        ("2k", 2000, None, "number"), ("3 million", 3e6, None, "number"), ("twenty-one", 21, None, "number"), ("one hundred and five", 105, None, "number"),
        ("two thousand", 2000, None, "number"), ("a dozen", 12, None, "number"), ("half a million", 5e5, None, "number"),
        ("2024-03-14", 20240314, None, "date"), ("14 March 2024", 20240314, None, "date"), ("March 14, 2024", 20240314, None, "date"), ("14.03.2024", 20240314, None, "date"),
        ("3/14/2024", 20240314, None, "date"), ("14/3/2024", 20240314, None, "date"), ("March 2024", 20240300, None, "date"), ("14. März 2024", 20240314, None, "date"),
        ("1st May", 501, None, "date"), ("02:00", 120, None, "time"), ("5 p.m.", 1020, None, "time"), ("12:30 am", 30, None, "time"),
        ("v8.1.2", 8, None, "version"), ("Python 3.10", 3, None, "version"), ("version 2.0", 2, None, "version"), ("10.0.0.1", 10, None, "version"), ("2.1.0-beta", 2, None, "version"),
        ("3rd", 3, None, "ordinal"), ("fourth", 4, None, "ordinal"), ("About 3.2 GB", 3.2, "GB", "bytes"), ("30 °C", 30, "°C", "measure"),
    ],
)  # fmt: skip
def test_one_quantity_is_read(text: str, value: float, unit: str | None, kind: str) -> None:
    found = one(text)
    assert (found.value, found.unit, found.kind) == (value, unit, kind)
    assert text[found.start : found.end] == found.text


@pytest.mark.parametrize(
    ("text", "low", "high", "unit"),
    [
        ("10-20 MB", 10, 20, "MB"),
        ("between 5 and 10 nodes", 5, 10, None),
        ("from 10 to 20", 10, 20, None),
        ("5–7 days", 5, 7, "days"),
    ],
)
def test_a_range_is_one_quantity(text: str, low: float, high: float, unit: str | None) -> None:
    found = one(text)
    assert (found.value, found.high, found.unit, found.kind) == (low, high, unit, "range")


@pytest.mark.parametrize(
    "text",
    ["one of them", "foo2 bar_3", "the second one", "may 5x", "no", "x1y", "a hundredfold", "AES-256 in us-east-1", ""],
)
def test_digits_in_names_and_figures_of_speech_are_no_quantities(text: str) -> None:
    assert quantities(text) == []


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("1.5 GB", "1500 MB"), ("1 GB", "1024 MB"), ("1 GiB", "1024 MiB"), ("1 h", "60 min"), ("30 minutes", "half an hour"), ("2k", "2000"), ("twelve", "12"), ("a dozen", "twelve"),
        ("14 March 2024", "2024-03-14"), ("March 2024", "14 March 2024"), ("2024", "March 2024"), ("v3.2", "3.2.0"), ("1,000", "1 000"), ("5 km", "5000 m"), ("512", "512 MB"), ("5m", "300 seconds"),
        ("10-20 MB", "10 to 20 MB"), ("20 MB", "10-20 MB"), ("$5", "5 dollars"), ("0.5 s", "500 ms"), ("5 p.m.", "17:00"), ("12 %", "12 percent"), ("0 °C", "32 °F"), ("7 days", "one week"),
    ],
)  # fmt: skip
def test_equal_quantities_agree_both_ways(a: str, b: str) -> None:
    assert agree(one(a), one(b))
    assert agree(one(b), one(a))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("1.5 GB", "1.5 MB"), ("5 %", "5"), ("v3.2", "v3.3"), ("3.2.1", "3.2"), ("14 March 2024", "March 2023"), ("5 USD", "5 EUR"), ("3rd", "3"), ("30 minutes", "30 hours"), ("10-20", "10-30"),
        ("15", "10-20"), ("429", "430"), ("2 p.m.", "2:00"), ("5 km", "5 kg"), ("2023", "March 2024"), ("8 Gb", "8 GB"),
    ],
)  # fmt: skip
def test_different_quantities_do_not_agree(a: str, b: str) -> None:
    assert not agree(one(a), one(b))
    assert not agree(one(b), one(a))


def test_a_tolerance_is_relative() -> None:
    assert agree(one("6,650 km"), one("6600 km"), relative=0.01)
    assert not agree(one("6,650 km"), one("6000 km"), relative=0.01)


@pytest.mark.parametrize(
    "text",
    [
        "1" * 10**6,
        "1," * 300000,
        "1 " * 100000,
        "one and " * 100000,
        "1.1." * 200000,
        "half a " * 100000,
        "the quick brown fox " * 50000,
    ],
    ids=lambda t: t[:6],
)
def test_much_text_is_read_in_seconds(text: str) -> None:
    start = time.process_time()
    quantities(text)
    assert time.process_time() - start < 20  # 1 s on a quiet machine; linear0


def test_a_megabyte_of_small_numbers_is_read_in_seconds() -> None:
    start = time.process_time()
    assert len(quantities("1 " * 500_000)) == 500_000
    assert time.process_time() - start < 20  # 1 s on a quiet machine; linear


def test_a_place_is_found_whatever_stands_before_it() -> None:
    found = [q.text for q in quantities("amUS$5, USD 6 v2 -.5 in_7 a dozen May 3, 2024 1 1 12 twenty")]
    assert found == ["US$5", "USD 6", "v2", "-.5", "a dozen", "May 3, 2024", "1", "1", "12", "twenty"]


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("a hundred files", "a hundred"), ("costs  An hundred dollars", "An hundred dollars"), ("(a dozen)", "a dozen"),
        ("half a hundred", "half a hundred"), ("data\nhundred a\nthousand", "a\nthousand"), ("a  b v 5", "v 5"), ("v\n8.1", "v\n8.1"),
    ],
)  # fmt: skip
def test_a_quantity_begins_with_its_article_and_is_found_behind_any_spaces(text: str, want: str) -> None:
    found = quantities(text)
    assert [q.text for q in found] == [want]
    assert text[found[0].start : found[0].end] == want
