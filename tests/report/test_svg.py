"""Plots: well-formed whatever is written in them, readable without colour, nothing from outside."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from ragauge.report.svg import HeatCell, HeatMap, Plot, Point, Series, heat_map, nice_ticks, plot

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "</title><script>alert(1)</script> \x00 \x1b[31m \u202e & \ud800 \ufffe 'q' \"q\""


def a_map(text: str = "x", **more: object) -> HeatMap:
    cells = ((HeatCell(0.1, "0.100", text), HeatCell(None, "—", text)), (HeatCell(0.9, text, text, True),) * 2)
    fields = {"title": text, "note": text, "x_name": text, "y_name": text, "columns": ("3", text), "rows": ("a", text)}
    return HeatMap(**{**fields, "cells": cells, **more})


def a_plot(text: str = "x", points: tuple[Point, ...] = (Point(1, 0.5, 0.4, 0.6, "p"), Point(2, 0.7))) -> Plot:
    return Plot(text, text, text, text, (Series(text, points), Series("other", points, joined=False)))


@pytest.mark.parametrize("svg", [heat_map(a_map(HOSTILE)), plot(a_plot(HOSTILE))])
def test_hostile_texts_stay_texts(svg: str) -> None:
    root = ElementTree.fromstring(svg.encode("utf-8"))
    assert not list(root.iter(f"{SVG}script"))
    assert "alert(1)" in "".join(root.itertext())
    assert "\x1b" not in svg
    assert "\u202e" not in svg


@pytest.mark.parametrize("svg", [heat_map(a_map()), plot(a_plot())])
def test_it_says_what_it_is_and_asks_nobody(svg: str) -> None:
    root = ElementTree.fromstring(svg)
    assert root.get("role") == "img"
    labels = (root.get("aria-labelledby") or "").split()
    assert labels == ["t", "d"]
    assert {child.get("id") for child in root if child.tag in (f"{SVG}title", f"{SVG}desc")} == set(labels)
    assert svg.count("http") == 1  # the namespace
    assert "prefers-color-scheme:dark" in svg


def test_the_largest_value_is_darkest_and_the_other_way_round_where_less_is_better() -> None:
    def fills(model: HeatMap) -> list[str]:
        return [
            r.get("fill") or "" for r in ElementTree.fromstring(heat_map(model)).iter(f"{SVG}rect") if r.get("fill")
        ]

    assert fills(a_map())[0] == "#eff4fb"
    assert fills(a_map())[1] == "#084594"
    assert fills(a_map(darker_is_better=False))[0] == "#084594"


def test_every_field_and_point_has_its_number_in_a_tooltip() -> None:
    root = ElementTree.fromstring(heat_map(a_map("seen")))
    groups = [group for group in root.iter(f"{SVG}g") if group.find(f"{SVG}title") is not None]
    assert len(groups) == 4
    assert all((group.find(f"{SVG}title").text or "") == "seen" for group in groups)  # type: ignore[union-attr]


def test_series_differ_by_more_than_colour() -> None:
    points = (Point(1, 1), Point(2, 2))
    drawn = plot(Plot("t", "n", "x", "y", (Series("a", points), Series("b", points), Series("c", points))))
    assert "stroke-dasharray" in drawn
    assert "<circle" in drawn
    assert "<path" in drawn


@pytest.mark.parametrize(
    "model",
    [
        Plot("t", "n", "x", "y", ()),
        Plot("t", "n", "x", "y", (Series("a", (Point(1.0, 0.5),)),)),
        a_plot(points=(Point(1, 0.0), Point(1, 0.0))),
        a_plot(points=(Point(0, -1e9, -2e9, 0), Point(1e12, 1e9))),
    ],
)
def test_nothing_one_point_equal_points_and_huge_numbers_are_drawn(model: Plot) -> None:
    assert "nan" not in plot(model)
    ElementTree.fromstring(plot(model))


def test_a_map_without_any_value_is_drawn() -> None:
    empty = a_map(cells=((HeatCell(None, "—", ""),) * 2,) * 2)
    ElementTree.fromstring(heat_map(empty))


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(0.0, 1.0, [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]), (3, 10, [4, 6, 8, 10]), (-1, 1, [-1, -0.5, 0, 0.5, 1]), (2, 2, [2])],
)
def test_ticks_are_round_numbers_inside_the_range(low: float, high: float, expected: list[float]) -> None:
    assert nice_ticks(low, high) == pytest.approx(expected)
