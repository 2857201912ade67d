"""The automaton: its modes and edges by the paper, and by runs that may take no other transition."""

import runpy
import xml.etree.ElementTree as ET

import pytest

import kane
from kane.analysis.automaton.visited_modes import visits


def example(root, name, maker):
    return runpy.run_path(str(root / "examples" / f"{name}.py"), run_name="example")[maker]


def built(model):
    return kane.build(kane.formulate(model))


@pytest.fixture(scope="module")
def block(root):
    return kane.modes_graph(built(example(root, "rocking_and_walking", "block")()))


def test_the_shopping_cart_has_two_modes_of_two_speeds_and_one(root):
    """Gillespie 2003, Example 3 and the manner of Fig. 2: a free caster leaves u1 and u2, a stuck one u1 (Eq. 64)."""
    graph = kane.modes_graph(built(example(root, "sticking_caster", "cart")()))
    assert graph.modes == ("free", "caster sticks held")
    assert graph.independent == {"free": ("u1", "u2"), "caster sticks held": ("u1",)}
    imposed, deleted = graph.edges
    assert (imposed.source, imposed.target) == ("free", "caster sticks held")
    assert (deleted.source, deleted.target) == ("caster sticks held", "free")
    assert str(imposed.guards[0]) == "caster sticks imposed: t - 1 > 0, impulse along caster sticks: rate"
    assert str(deleted.guards[0]) == "caster sticks deleted: t - 1.7 > 0"
    assert "free: independent speeds u1, u2" in repr(graph)


def test_the_drawing_has_every_mode_and_arrow(root):
    graph = kane.modes_graph(built(example(root, "sticking_caster", "cart")()))
    drawing = ET.fromstring(graph.svg())
    words = "".join(drawing.itertext())
    assert "caster sticks held" in words
    assert "u1, u2" in words
    assert "t - 1.7 > 0" in words
    assert "t - 1 > 0, impulse" in words
    space = "{http://www.w3.org/2000/svg}"
    assert len(drawing.findall(f".//{space}ellipse")) == 2
    assert len(drawing.findall(f"./{space}path")) == 2
    assert graph._repr_html_() == graph.svg()


def test_the_rocking_block_has_the_modes_that_compile_modes_names(block):
    assert len(block.modes) == 9
    assert set(block.modes) == set(kane.compile_modes(block.dyn, "all").compiled_modes.words)
    assert block.independent["free"] == ("x_dot", "y_dot", "turn_dot")
    assert [len(block.independent[mode]) for mode in ("left held", "left sliding", "left sliding, right sliding")] == [
        1, 2, 1
    ]  # fmt: skip


def test_every_transition_of_1000_random_runs_is_an_edge(block):
    box = {"turn": (-0.4, 0.4), "y": (0.0, 0.3), "turn_dot": (-3, 3), "x_dot": (-2, 2), "y_dot": (-2, 1)}
    found = block.check(within=box, runs=1000, until=0.4)
    assert found.not_edges == {}
    assert len(found.unvisited) < 8
    assert found.unreachable == ()


def test_a_transition_that_the_graph_lacks_is_reported(block):
    """The check of the test above can fail: without the edges of a mode, runs are caught taking them."""
    edges = tuple(edge for edge in block.edges if edge.source != "free")
    lame = kane.ModesGraph(block.dyn, block.modes, block.independent, edges)
    found = lame.check(within={"y": (0.1, 0.2), "turn": (0.1, 0.3)}, runs=3, until=1.0)
    assert any(source == "free" for source, _ in found.not_edges)
    assert not found.holds
    assert "right held" in found.unreachable


def test_the_cycle_of_the_woodpecker_is_found(root):
    """One hop: the lower edge slides and sticks, the beak hits, the upper edge slides, the sleeve falls."""
    hop, toy = (example(root, "woodpecker", word) for word in ("hop", "toy"))
    graph, run = kane.modes_graph(built(toy())), hop(1.5)
    cycle = graph.cycle(run)
    assert {"free", "lower edge sliding", "lower edge held", "upper edge sliding"} == set(cycle)
    assert all((a.mode, b.mode) in graph.between for a, b in zip(visits(run), visits(run)[1:], strict=False))
    causes = {visit.cause for visit in visits(run)[1:]}
    assert causes == {"beak", "lower edge", "upper edge"}


def slider(**limits):
    m = kane.Model("slider", gravity=(0, 0, 0))
    x = m.connect("ground", m.body("b", mass=1.0, inertia=(1, 1, 1)), kane.Prismatic("x", axis="x"))
    return m, x


def test_a_latch_without_release_is_a_mode_without_exit_with_a_run():
    m, x = slider()
    m.latch(1.0 - x.q, name="door")
    graph = kane.modes_graph(built(m))
    found = graph.check(within={"x_dot": (2.0, 3.0)}, runs=2, until=1.0, forbidden=["door held"])
    assert [edge.target for edge in graph.out_of("door held")] == []
    assert set(found.without_exit) == set(found.forbidden) == {"door held"}
    assert found.not_edges == {}
    (edge,) = graph.out_of("free")
    assert [str(guard) for guard in edge.guards] == ["door impact: x - 1 > 0, impulse along door: normal"]
    witness = found.forbidden["door held"]
    assert witness.run["x"][-1] == pytest.approx(1.0)
    assert 0.3 < witness.time < 0.5
    assert not found.holds
    assert "forbidden mode visited: door held, at t = 0." in repr(found)


def test_chattering_is_found_and_slow_alternation_is_not():
    def switched(frequency):
        m, x = slider()
        wave = kane.sin(frequency * m.time)
        m.switch(x.qdot, on=wave - 0.1, off=-wave - 0.1, name="brake")
        return kane.modes_graph(built(m)).check(within={"x_dot": (1.0, 2.0)}, runs=1, until=2.0)

    assert set(switched(2000.0).chattering) == {("brake held", "free")}
    assert switched(20.0).chattering == {}
    assert switched(20.0).holds


def test_the_statement_tells_what_was_not_proved(block):
    found = block.check(within={"y": (1.0, 2.0)}, runs=2, until=0.01)
    assert found.unvisited == tuple(mode for mode in block.modes if mode != "free")
    assert "visited 1 of 9 modes" in found.statement
    assert "not proved to be absent" in found.statement


def test_wrong_arguments_are_refused(block, root):
    with pytest.raises(kane.ModelError, match="has no contacts, stops, latches, sticking joints or switches"):
        kane.modes_graph(built(kane.library.wrist()))
    with pytest.raises(kane.ModelError, match=r"modes_graph needs Dynamics"):
        kane.modes_graph(kane.library.wrist())
    with pytest.raises(kane.ModelError, match=r"has 6561 modes, more than the 100 of a graph"):
        kane.modes_graph(built(example(root, "rocking_and_walking", "wheel")()))
    with pytest.raises(kane.ModelError, match="there is no mode 'left hold'; did you mean left held"):
        block.check(within={}, forbidden=["left hold"])
    with pytest.raises(kane.ModelError, match="there is no coordinate or speed 'turned'; did you mean turn"):
        block.check(within={"turned": (0, 1)})
    with pytest.raises(kane.ModelError, match="the range of 'turn' is empty: 1 is more than 0"):
        block.check(within={"turn": (1, 0)})
    with pytest.raises(kane.ModelError, match="no start in the box is valid in 20 draws"):
        block.check(within={"y": (-2.0, -1.0)}, runs=1)
    with pytest.raises(kane.ModelError, match="runs= is 0; give a positive whole number"):
        block.check(within={}, runs=0)
    with pytest.raises(kane.ModelError, match="there is no mode 'both'"):
        block.out_of("both")
