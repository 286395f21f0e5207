"""Heat maps: every cell its number, legible on its ground, and nothing that could be markup."""

import html
import re

from coplay.report.heat_map import HeatMap, heat_map_figure, heat_map_svg


def a_map(title: str = "row: reward per step") -> HeatMap:
    return HeatMap(
        title,
        ("row", ("LOLA", "Q-learning")),
        ("column", ("a", "b", "c")),
        (((3.96, 0.02), (-1.5, None), None), ((1.0, 0.0), (2.0, 0.1), (0.1, 0.04))),
    )


def words(svg: str) -> list[str]:
    """Everything that stands between tags."""
    return [html.unescape(text).strip() for text in re.findall(r">([^<>]+)<", svg) if text.strip()]


def test_every_known_cell_has_its_number_and_interval() -> None:
    found = words(heat_map_svg([a_map()], prefix="m"))
    for text in ("3.96", "± 0.02", "\u22121.50", "1.00", "± 0.00", "0.10", "± 0.04", "LOLA", "Q-learning", "c"):
        assert text in found, (text, found)
    assert sum(text.startswith("±") for text in found) == 4  # none for one seed, none where nothing is known


def test_maps_beside_one_another_share_the_scale_and_name_the_lines_once() -> None:
    figure = heat_map_figure([a_map(), a_map("column: reward per step")])
    left, right = figure.axes
    assert [mesh.get_clim() for axes in (left, right) for mesh in axes.collections] == [(-1.5, 3.96)] * 2
    assert [label.get_text() for label in left.get_yticklabels()] == ["LOLA", "Q-learning"]
    assert not right.get_yticklabels()


def test_text_stands_out_from_its_cell() -> None:
    figure = heat_map_figure([a_map()])
    colours = {text.get_text(): text.get_color() for text in figure.axes[0].texts}
    assert colours["3.96"] == "#fdfdfd" and colours["\u22121.50"] == "#101114"


def test_markup_in_names_stays_text() -> None:
    bad = HeatMap("<b>$x$", ("<i>", ("<script>",)), ("k", ("$y$",)), (((1.0, None),),))
    svg = heat_map_svg([bad], prefix="m")
    assert "<script>" not in svg and "<b>" not in svg
    assert {"<script>", "<b>$x$", "$y$"} <= set(words(svg))


def test_a_map_without_any_number_can_be_drawn() -> None:
    assert heat_map_svg([HeatMap("nothing yet", ("a", ("x",)), ("b", ("y",)), ((None,),))], prefix="m")


def test_wide_maps_stand_one_below_the_other_and_long_names_are_wrapped() -> None:
    names = tuple(f"a learner of kind {i}" for i in range(7))
    wide = HeatMap("row", ("row", ("x",)), ("column", names), (tuple((float(i), 0.1) for i in range(7)),))
    figure = heat_map_figure([wide, wide])
    upper, lower = (axes.get_position() for axes in figure.axes)
    assert upper.x0 == lower.x0 and upper.y0 > lower.y1
    assert figure.axes[0].get_xticklabels()[3].get_text() == "a learner of\nkind 3"
    assert all(0 <= edge <= 1 for box in (upper, lower) for edge in (box.x0, box.x1, box.y0, box.y1))


def test_a_long_name_is_broken_after_an_underscore() -> None:
    names = ("always_cooperate", "always_defect", "generous_tit_for_tat")
    figure = heat_map_figure([HeatMap("row", ("row", ("x",)), ("column", names), (((1.0, None),) * 3,))])
    shown = [label.get_text() for label in figure.axes[0].get_xticklabels()]
    assert shown == ["always_\ncooperate", "always_defect", "generous_tit_\nfor_tat"]
