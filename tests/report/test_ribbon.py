"""Bands along a series: one polygon for each stretch with intervals, bars where there is none."""

from __future__ import annotations

from ragauge.report.svg import Plot, Point, Series, inline, plot


def a_plot(points: list[Point], *, ribbon: bool = True) -> str:
    return plot(Plot("t", "n", "x", "y", (Series("s", tuple(points)),), ribbon=ribbon))


def test_a_band_follows_the_intervals_and_breaks_where_there_is_none() -> None:
    whole = [Point(float(x), 0.5, 0.4, 0.6) for x in range(6)]
    assert a_plot(whole).count('<polygon class="ribbon"') == 1
    broken = [*whole[:2], Point(2.0, 0.5), *whole[3:]]
    assert a_plot(broken).count('<polygon class="ribbon"') == 2
    assert a_plot(whole, ribbon=False).count("<polygon") == 0
    assert a_plot(whole[:1]).count("<polygon") == 0


def test_a_document_on_a_page_has_ids_of_its_own_and_no_style() -> None:
    text = inline(a_plot([Point(0.0, 0.5), Point(1.0, 0.5)]), "mine")
    assert 'id="mine-t"' in text
    assert "<style" not in text
