"""Drawing of an automaton as SVG: modes on a circle, transitions of one constraint as arrows with their guards."""

from __future__ import annotations

from html import escape
from math import cos, hypot, pi, sin
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kane.analysis.automaton.mode_edges import ModeEdge
    from kane.analysis.automaton.modes_graph import ModesGraph

# Pixels: half the height of a mode's ellipse, half the width of a letter, radius of the circle per mode, least radius,
# margins beside and above the circle.
HALF_HEIGHT, HALF_LETTER, PER_MODE, LEAST_RADIUS, MARGIN, ABOVE = 26.0, 3.6, 46.0, 170.0, 190.0, 80.0
# Largest number of arrows with texts, and of letters of a text; others are in the title, shown by the pointer.
MOST_TEXTS, MOST_LETTERS = 24, 40


def automaton_svg(graph: ModesGraph) -> str:
    """Return the drawing of an automaton as SVG."""
    radius = max(LEAST_RADIUS, PER_MODE * len(graph.modes))
    size = 2.0 * (radius + MARGIN)
    turns = [2 * pi * k / len(graph.modes) for k in range(len(graph.modes))]
    points = [(size / 2 - radius * cos(turn), size / 2 - radius * sin(turn)) for turn in turns]
    places = dict(zip(graph.modes, points, strict=True))
    edges = [edge for edge in graph.edges if edge.alone and edge.source != edge.target]
    parts = [_arrow(edge, places, told=len(edges) <= MOST_TEXTS) for edge in edges]
    parts += [_node(mode, graph.independent[mode], places[mode]) for mode in graph.modes]
    top, bottom = min(y for _, y in points) - ABOVE, max(y for _, y in points) + ABOVE
    view = f"0 {top:.0f} {size:.0f} {bottom - top:.0f}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{view}" width="{min(size, 940):.0f}" '
        'font-family="sans-serif" font-size="12"><defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" '
        'markerWidth="7" markerHeight="7" orient="auto"><path d="M0,0 L8,4 L0,8 z"/></marker></defs>'
        f"<title>{escape(repr(graph.dyn.equations.name))}</title>{''.join(parts)}</svg>"
    )


def _half_width(mode: str) -> float:
    return max(64.0, HALF_LETTER * len(mode) + 16.0)


def _node(mode: str, independent: tuple[str, ...], place: tuple[float, float]) -> str:
    x, y = place
    speeds = _short(", ".join(independent) or "no speed", int(_half_width(mode) / HALF_LETTER) - 3)
    return (
        f'<g><ellipse cx="{x:.1f}" cy="{y:.1f}" rx="{_half_width(mode):.1f}" ry="{HALF_HEIGHT}" fill="white" '
        f'stroke="black"/><text x="{x:.1f}" y="{y - 3:.1f}" text-anchor="middle">{escape(mode)}</text>'
        f'<text x="{x:.1f}" y="{y + 13:.1f}" text-anchor="middle" fill="gray">{speeds}</text></g>'
    )


def _arrow(edge: ModeEdge, places: dict[str, tuple[float, float]], *, told: bool) -> str:
    """Return an arrow that is bent to its right, so that opposite arrows are apart."""
    (x0, y0), (x1, y1) = places[edge.source], places[edge.target]
    length = hypot(x1 - x0, y1 - y0)
    along = ((x1 - x0) / length, (y1 - y0) / length)
    start, end = _on_rim(edge.source, (x0, y0), along, 1.0), _on_rim(edge.target, (x1, y1), along, -1.0)
    bend = 0.12 * length
    middle = ((x0 + x1) / 2 - bend * along[1], (y0 + y1) / 2 + bend * along[0])
    words = "; ".join(map(str, edge.guards))
    drawn = (
        f'<path d="M{start[0]:.1f},{start[1]:.1f} Q{middle[0]:.1f},{middle[1]:.1f} {end[0]:.1f},{end[1]:.1f}" '
        f'fill="none" stroke="black" marker-end="url(#tip)"><title>{escape(words)}</title></path>'
    )
    return drawn + (_text(edge, middle) if told else "")


def _on_rim(mode: str, place: tuple[float, float], along: tuple[float, float], sign: float) -> tuple[float, float]:
    """Return the point of a mode's ellipse in a direction."""
    a, b = _half_width(mode), HALF_HEIGHT
    reach = sign / hypot(along[0] / a, along[1] / b)
    return place[0] + reach * along[0], place[1] + reach * along[1]


def _text(edge: ModeEdge, place: tuple[float, float]) -> str:
    lines = [_short(f"{guard.kind}: {guard.condition}{', impulse' * bool(guard.rows)}") for guard in edge.guards]
    spans = "".join(f'<tspan x="{place[0]:.1f}" dy="{14 * (k > 0)}">{line}</tspan>' for k, line in enumerate(lines))
    return f'<text x="{place[0]:.1f}" y="{place[1]:.1f}" text-anchor="middle" font-size="11">{spans}</text>'


def _short(text: str, most: int = MOST_LETTERS) -> str:
    return escape(text if len(text) <= most else f"{text[:most]}...")
