"""Pages in headless Chromium: they load, move, seek, pull and pose; without a browser these tests say so aloud."""

import json

import numpy as np
import pytest
from oracles.browser import Browser

import kane
from kane.display.page import document
from kane.display.thinned_run import Band, ShownRun, replay_page, spans
from kane.dynamics.reactions.exerted_forces import StatesOfArrows, acting


@pytest.fixture(scope="module")
def browser():
    with Browser() as found:
        yield found


def bar():
    """The four-bar with its start."""
    dyn = kane.build(kane.formulate(kane.library.four_bar()))
    return dyn, kane.assemble(dyn, q={"q1": 0.5}, u={"u1": 7.0}, fixed=["q1", "u1"])


@pytest.fixture(scope="module")
def replay(tmp_path_factory):
    """A page that plays the four-bar with everything that a page can show."""
    dyn, start = bar()
    model = dyn.equations.model
    event = kane.Event(model.connections[0].q - 6.0, name="around")
    run = kane.simulate(dyn, until=2.0, q=start.q, u=start.u, events=event)
    other = kane.simulate(dyn, until=2.0, q=start.q, u=0.9 * start.u)
    path = tmp_path_factory.mktemp("page") / "replay.html"
    tip = model.bodies[2].point((0.3, 0, 0))
    run.save_html(path, ghosts=[other], traces=[tip], arrows=["q1", "loop"], plots=["q1", "energy"])
    return run, path


@pytest.fixture
def opened(browser):
    """Opens pages, closes them after the test, and asks that they did not complain or ask the network."""
    tabs = []

    def open_page(address, **size):
        tab = browser.open(address, **size)
        tabs.append(tab)
        tab.wait("window.kane && kane.frames > 2")
        return tab

    yield open_page
    for tab in tabs:
        problems, requests = tab.problems, tab.requests
        tab.close()
        assert problems == []
        assert [r for r in requests if not r.startswith(("file://", "data:", "blob:", "http://127.0.0.1:"))] == []


def seen(tab):
    """How many pixels of the canvas differ from the corner, and their sum: what moves changes it."""
    return tab.run("""(() => {
        kane.render();
        const { gl } = kane.renderer, { width, height } = kane.canvas, pixels = new Uint8Array(4 * width * height);
        gl.readPixels(0, 0, width, height, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
        let sum = 0;
        for (let i = 0; i < pixels.length; i++) sum = (31 * sum + pixels[i]) % 1000000007;
        return sum;
    })()""")


def test_a_replay_plays_from_a_file_without_errors(opened, replay):
    tab = opened(replay[1].as_uri())
    before, first = tab.run("kane.cursor"), seen(tab)
    tab.wait(f"kane.cursor > {before}")
    tab.wait("kane.frames > 8")
    assert seen(tab) != first
    assert tab.requests == [replay[1].as_uri()]


def test_scrubbing_seeks_to_the_state_that_was_recorded(opened, replay):
    run, path = replay
    tab = opened(path.as_uri())
    tab.run("kane.toggle(false)")
    pictures = []
    for k in (0, 400, 1000):
        t = float(run.time[k])
        tab.run(
            f"(() => {{ kane.controls.range.value = {t}; kane.controls.range.dispatchEvent(new Event('input')); }})()"
        )
        assert tab.run("kane.cursor") == pytest.approx(t, abs=1e-12)
        # Positions of the page are kept in single precision.
        pose = bar()[0].poses(run.q[k])["coupler"]
        at = tab.run("Array.from(kane.posesNow().slice(12 + 9, 12 + 12))")
        np.testing.assert_allclose(at, pose.position, atol=1e-5)
        pictures.append(seen(tab))
    assert len(set(pictures)) == 3


def test_events_are_ticks_that_one_can_click(opened, replay):
    run, path = replay
    tab = opened(path.as_uri())
    assert tab.run("document.querySelectorAll('.tick').length") == len(run.events) == 1
    tab.run("kane.toggle(false); document.querySelector('.tick').click()")
    assert tab.run("kane.cursor") == pytest.approx(run.events[0].time, abs=1e-12)
    assert "around" in tab.run("document.querySelector('.tick').title")


def test_what_is_in_force_is_named_and_lights_up_and_events_tell_their_causes(opened, tmp_path):
    dyn, start = bar()
    run = kane.simulate(dyn, until=1.0, q=start.q, u=start.u)
    bands = [Band("left", spans(run.time, (run.time > 0.2) & (run.time < 0.5)), [2])]
    shown = ShownRun("run", run.time, run.q, {}, [(0.2, "impact", "left strikes")], (), bands)
    path = replay_page(dyn.equations, [shown], parameters={}).save(tmp_path / "x.html")
    tab = opened(path.as_uri())
    tab.run("kane.toggle(false)")
    for t, bodies in ((0.1, []), (0.3, [2]), (0.6, [])):
        tab.run(f"kane.seek({t})")
        assert tab.run("Array.from(kane.lit())") == bodies
        tab.wait(f"kane.told.textContent.endsWith('active: left') === {str(bool(bodies)).lower()}")
    tab.run("kane.seek(0.2)")
    tab.wait("kane.told.textContent.startsWith('0.2 s: impact left strikes')")
    assert "left strikes" in tab.run("document.querySelector('.tick').title")


def test_a_mechanism_that_leaves_stays_in_the_picture(opened, tmp_path):
    model = kane.Model("sled", gravity=(0, 0, -9.81))
    sled = model.body("sled", mass=1.0, inertia=(0.1, 0.1, 0.1))
    model.connect(model.ground, sled, kane.Prismatic("x", axis="x"))
    sled.shape(kane.Box(1.0, 0.3, 0.3))
    run = kane.simulate(kane.build(kane.formulate(model)), until=10.0, u=[5.0])
    tab = opened(run.save_html(tmp_path / "x.html").as_uri())
    away = "V.length(V.sub(kane.scene.place(kane.posesNow(), 1, [0, 0, 0]), kane.camera.target)) / kane.camera.distance"
    for t in (1.0, 5.0, 10.0):
        tab.run(f"kane.toggle(false); kane.seek({t}); kane.render()")
        assert tab.run(away) < 0.3
    tab.run("kane.camera.target = [0, 0, 100]; kane.away = null; kane.render()")
    assert tab.run("kane.camera.target[2]") == 100  # who looks elsewhere, does


def test_keys_play_step_and_change_the_look(opened, replay):
    tab = opened(replay[1].as_uri())
    tab.press(" ")
    assert tab.run("kane.playing") is False
    at = tab.run("kane.cursor")
    tab.press("ArrowRight")
    assert tab.run("kane.cursor") == pytest.approx(at + 1 / 60, abs=1e-9)
    look = tab.run("document.documentElement.dataset.look")
    tab.press("l")
    assert {look, tab.run("document.documentElement.dataset.look")} == {"light", "dark"}
    tab.press("f")
    assert tab.run("kane.shown.follow") == 1


def test_a_page_fits_a_telephone(opened, replay):
    tab = opened(replay[1].as_uri(), width=390, height=700)
    assert tab.run("document.documentElement.scrollWidth") <= 390
    assert tab.run("getComputedStyle(document.getElementById('panel')).display") == "none"
    tab.run("document.getElementById('menu').click()")
    box = tab.run("JSON.stringify(document.getElementById('panel').getBoundingClientRect())")
    assert json.loads(box)["left"] >= 0
    assert json.loads(box)["right"] <= 390


def test_ghosts_traces_and_arrows_are_drawn(opened, replay):
    tab = opened(replay[1].as_uri())
    tab.run("kane.toggle(false); kane.seek(1.0); kane.draw(3); kane.hopes = 0")  # as low as it goes: it stays
    full = seen(tab)
    for word in ("ghosts", "traces", "arrows"):
        tab.run(f"kane.switch('{word}')")
        assert seen(tab) != full
        tab.run(f"kane.switch('{word}')")
        assert seen(tab) == full


def test_arrows_stand_where_the_forces_act_and_have_a_scale(opened, replay):
    run, path = replay
    tab = opened(path.as_uri())
    tab.run(f"kane.toggle(false); kane.seek({run.time[400]})")
    drawn = tab.run("kane.arrowsNow(kane.posesNow()).map((a) => [a.from, a.to, a.heads])")
    dyn = run.dynamics()
    found = [one for name in ("q1", "loop") for one in acting(dyn, name, StatesOfArrows(*states(run), {}))]
    assert [heads for *_, heads in drawn] == [1, 1, 1]  # forces alone: in a plane the bearings bear no torque
    poses = dyn.poses(run.q[400])
    for (start, end, _), one in zip(drawn, found, strict=True):
        pose = poses[dyn.equations.bodies[one.body]]
        np.testing.assert_allclose(start, pose.position + pose.orientation @ one.at, atol=1e-5)
        scale = tab.run("kane.scales.force")
        np.testing.assert_allclose(np.subtract(end, start), scale * one.force[400], atol=1e-5)
    words = tab.run("kane.controls.forceScale.textContent")
    assert float(words.removesuffix(" N")) == pytest.approx(1 / scale, rel=1e-3)
    assert tab.run("kane.controls.torqueScale") is None


def states(run):
    return run.q, run.u, run.inputs, run.time


def test_a_live_page_draws_the_forces_of_its_equations(opened, tmp_path):
    dyn, start = bar()
    path = dyn.save_html(tmp_path / "live.html", q=start.q, u=start.u, arrows=["q1", "loop"])
    tab = opened(path.as_uri())
    tab.wait("kane.motion.time > 0.05")
    assert tab.run("kane.arrowsNow(kane.posesNow()).length") == 3
    longest = "Math.max(...kane.arrowsNow(kane.posesNow()).map((a) => V.length(V.sub(a.to, a.from))))"
    assert 0 < tab.run(longest) <= tab.run("kane.data.scene.size / 2 * (1 + 1e-12)")


def test_a_live_page_and_native_code_agree_after_a_second(opened, tmp_path):
    dyn, start = bar()
    path = dyn.save_html(tmp_path / "live.html", q=start.q, u=start.u, plots=["q1", "energy"])
    tab = opened(path.as_uri())
    tab.run("(() => { kane.toggle(false); kane.reset(); kane.motion.advance(1); })()")
    native = kane.simulate(dyn, until=1.0, q=start.q, u=start.u, integrator=kane.RK8(rtol=1e-12, atol=1e-12)).final
    np.testing.assert_allclose(tab.run("Array.from(kane.motion.x)"), [*native.q, *native.u], atol=1e-9)


def test_the_mouse_pulls_at_a_body_of_a_live_page(opened, tmp_path):
    model = kane.Model("door", gravity=(0, 0, 0))
    door = model.body("door", mass=2.0, inertia=(0.1, 0.1, 0.1))
    model.connect(model.ground, door, kane.Revolute("q1", axis="y"))
    door.shape(kane.Box(1.0, 1.0, 1.0))
    path = kane.build(kane.formulate(model)).save_html(tmp_path / "door.html")
    tab = opened(path.as_uri())
    before = tab.run("kane.motion.x[0]")
    middle = 640 - tab.run("kane.covered()") / 2  # what is seen is beside the panel
    tab.mouse("mousePressed", middle, 380)
    assert tab.run("kane.motion.pull.body") == 1
    for x in range(20, 220, 40):
        tab.mouse("mouseMoved", middle + x, 380)
    tab.wait(f"Math.abs(kane.motion.x[0] - {before}) > 0.01")
    tab.mouse("mouseReleased", 860, 380)
    assert tab.run("kane.motion.pull") is None


def test_sliders_of_a_live_page_set_inputs_and_parameters(opened, tmp_path):
    dyn = kane.build(kane.formulate(kane.library.n_link_pendulum(1)))
    path = dyn.save_html(tmp_path / "live.html", sliders={"F": (-5, 5), "m": None})
    tab = opened(path.as_uri())
    assert tab.run("document.querySelectorAll('#panel input[type=range]').length") == 2
    tab.run("kane.ranges.forEach(({ range }) => { range.value = 1.5; range.dispatchEvent(new Event('input')); })")
    assert tab.run("[kane.motion.inputs[0], kane.motion.parameters.includes(1.5)]") == [1.5, True]


# Finds the button of a term in the equation of a speed; opens the equation.
TERM = """(() => {
    document.getElementById("equations").open = true;
    const found = kane.termButtons.find(({ term }) => term.name === "%s" && term.why.includes("equation of %s "));
    found.button.parentElement.open = true;
    found.button.scrollIntoView();
    return found;
})()"""


def test_terms_of_a_live_page_tell_their_reasons_by_mouse_and_by_keyboard(opened, tmp_path):
    equations = kane.formulate(kane.library.stanford_arm())
    state = {"q": {"q2": 1.5708, "q6": 0.1}, "u": {"u2": 3.0, "u1": 0.5}}
    tab = opened(kane.build(equations).save_html(tmp_path / "arm.html", **state).as_uri())
    tab.ask("Emulation.setFocusEmulationEnabled", enabled=True)
    tab.run("(() => { kane.toggle(false); kane.reset(); })()")
    shown, sentence = "document.getElementById('reason')", repr(kane.why(equations, "u6", "u2**2"))
    assert tab.run(f"{shown}.hidden")
    x, y = tab.run(
        f"(() => {{ const b = {TERM % ('u2**2', 'u6')}.button.getBoundingClientRect(); return [b.x, b.y]; }})()"
    )
    tab.mouse("mouseMoved", x + 5, y + 5)
    tab.wait(f"!{shown}.hidden")
    assert tab.run(f"{shown}.firstChild.textContent") == sentence
    assert tab.run("[...kane.lit()].map((k) => kane.data.scene.frames[k])") == ["C", "D", "E", "F"]
    tab.mouse("mouseMoved", 5, 400)
    tab.wait(f"{shown}.hidden")
    tab.run(f"{TERM % ('u1**2', 'u6')}.button.previousElementSibling.focus()")
    tab.press("Tab")
    tab.wait(f"!{shown}.hidden")
    assert tab.run("document.activeElement.firstChild.textContent") == "u1**2"
    assert tab.run(f"{shown}.firstChild.textContent") == repr(kane.why(equations, "u6", "u1**2"))
    tab.press("Escape")
    assert tab.run(f"{shown}.hidden")
    assert tab.run("kane.lit().size") == 0


@pytest.mark.parametrize("name", ["stanford_arm", "slider_crank", "shopping_cart"])
def test_values_of_terms_in_a_page_are_the_shares_at_its_state(opened, tmp_path, name):
    """The sliding crank has multipliers of numerically embedded rows; the cart has symbolically embedded rows."""
    dyn = kane.build(kane.formulate(getattr(kane.library, name)()))
    equations = dyn.equations
    state = {"q": {"q2": 1.0, "q6": 0.1}, "u": {"u2": 3.0}}
    if name != "stanford_arm":
        start = kane.assemble(dyn, q=[0.5, *equations.neutral[1:]], u=[1.0] * len(equations.u))
        state = {"q": start.q, "u": start.u}
    tab = opened(dyn.save_html(tmp_path / "page.html", **state).as_uri())
    tab.run("(() => { kane.toggle(false); kane.reset(); })()")
    at = tab.run("Array.from(kane.motion.x)")
    values = tab.run("Array.from(kane.termValues())")
    for equation in tab.run("kane.data.equations"):
        explained = kane.explain(equations, equation["speed"])
        given = {x.name: equations.defaults.get(x.name, 0.0) for x in equations.inputs}
        shares = explained.at(q=at[: len(equations.q)], u=at[len(equations.q) :], inputs=given)
        found = {term["name"]: values[term["place"]] for term in equation["terms"]}
        largest = max(map(abs, shares.by_term.values()))
        assert found == pytest.approx(shares.by_term, rel=1e-9, abs=1e-9 * largest)


def test_long_equations_are_not_listed_in_a_page(tmp_path):
    dyn = kane.build(kane.formulate(kane.library.chain(11)))
    text = dyn.save_html(tmp_path / "page.html").read_text("utf-8")
    assert '"equations": []' in text


def test_a_model_is_posed_by_sliders_and_its_loop_stays_closed(opened):
    dyn, start = bar()
    with kane.view(dyn, q=start.q) as view:
        tab = opened(view.url)
        first = seen(tab)
        tab.run("kane.ranges[0].range.value = 0.7")
        tab.run("kane.ranges[0].range.dispatchEvent(new Event('input'))")
        x = tab.run("Array.from(kane.motion.x)")
        assert seen(tab) != first
    assert x[0] == 0.7
    assert dyn.constraint_residuals(x[:3], np.zeros(3)).largest[0] < 1e-12


def test_a_stepper_is_shown_as_it_steps(opened):
    stepper = kane.Stepper(kane.build(kane.formulate(kane.library.n_link_pendulum(2))), q={"q2": 1.0})
    with kane.view(stepper, traces=[stepper.equations.bodies[-1]]) as view:
        tab = opened(view.url)
        for _ in range(5):
            stepper.step(0.05)
        tab.wait(f"Math.abs(kane.motion.time - {stepper.time}) < 1e-12")
        np.testing.assert_array_equal(tab.run("Array.from(kane.motion.x)"), [*stepper.q, *stepper.u])


def test_a_wrong_token_is_said_on_the_page(browser):
    with kane.view(kane.library.n_link_pendulum(1)) as view:
        tab = browser.open(view.url[:-5])
        tab.wait("document.getElementById('message')")
        assert "token is wrong" in tab.run("document.getElementById('message').textContent")
        assert tab.run("window.kane") is None
        tab.close()


def test_names_of_a_model_cannot_become_code(opened, tmp_path):
    name = "</script><img src=x onerror=alert(1)>"
    model = kane.Model(name)
    body = model.body("<b onclick='x'>", mass=1.0, inertia=(1, 1, 1))
    model.connect(model.ground, body, kane.Revolute("q1", axis="z"))
    dyn = kane.build(kane.formulate(model))
    tab = opened(kane.simulate(dyn, until=0.1).save_html(tmp_path / "x.html").as_uri())
    assert tab.run("document.querySelector('h1').textContent") == name
    assert tab.run("document.querySelectorAll('img, b').length") == 0
    assert "<img" not in document(name, "")


@pytest.mark.parametrize("name", ["six_axis_arm", "spacecraft_tree"])
def test_pages_without_meshes_are_small(name, tmp_path):
    dyn = kane.build(kane.formulate(getattr(kane.library, name)()))
    run = kane.simulate(dyn, until=5.0)
    assert run.save_html(tmp_path / "run.html").stat().st_size < 2e6
    assert dyn.save_html(tmp_path / "live.html").stat().st_size < 2e6


def test_what_a_page_cannot_show_is_refused_before_anything_is_written(tmp_path):
    dyn, start = bar()
    for given, words in [
        ({"sliders": ["nowhere"]}, "no input or parameter 'nowhere'"),
        ({"sliders": "T"}, "sliders"),
        ({"sliders": {"g": (2, 1)}}, "range of the slider"),
        ({"sliders": {"g": 3}}, "range of the slider"),
        ({"plots": ["nowhere"]}, "no quantity"),
        ({"plots": np.zeros((2, 5))}, "one of the names in plots"),
        ({"traces": [3]}, "cannot be traced"),
        ({"arrows": ["nowhere"]}, "no joint, constraint, contact or load 'nowhere'"),
        ({"q": [1.0]}, "coordinates have shape"),
        ({"inputs": {"nowhere": 1}}, "no input 'nowhere'"),
    ]:
        with pytest.raises(kane.ModelError, match=words):
            dyn.save_html(tmp_path / "x.html", **given)
    model = kane.library.n_link_pendulum(1)
    model.stop(model.connections[-1], lower=-1.0, upper=1.0)
    with pytest.raises(
        kane.ModelError, match="intermittent constraints, which a live page does not simulate; show a run instead"
    ):
        kane.build(kane.formulate(model)).save_html(tmp_path / "x.html")
    with pytest.raises(kane.FileError):
        dyn.save_html(tmp_path / "nowhere" / "x.html", q=start.q)
    assert list(tmp_path.iterdir()) == []
