"""Units in displays. The units of the arm are those of a textbook: stiffness N m, damping N m s, torque N m."""

import pickle

import pytest

import kane
from kane.display.live_motion import live_page, model_page
from kane.formulation.units.inferred_units import shown_units
from kane.simulation.results.trajectory_file import LATER_WORDS

# A declared unit as the user may type it, with signs that mean something in the target languages.
TYPED, WRITTEN = "N*m*\ns", "N m s"


def arm(effort=lambda j, k, c, T: T - k * j.q - c * j.qdot):
    m = kane.Model("arm")
    k, c, T = m.parameter("k", 8.0), m.parameter("c", 0.4, unit=TYPED), m.input("T")
    link = m.body("link", mass=2.0, inertia=(0.1, 0.1, 0.01), com=(0, 0, -0.3))
    j = m.connect("ground", link, kane.Revolute("q1", axis="y"))
    m.load(kane.Motor(j, effort(j, k, c, T)))
    return m


@pytest.fixture(scope="module")
def run():
    return kane.simulate(kane.build(kane.formulate(arm())), until=0.1, q={"q1": 1.0}, inputs={"T": 1.0})


def test_datasets_of_runs_files_and_pickles_have_units(run, tmp_path):
    run.save(tmp_path / "run.nc")
    loaded = kane.Trajectory.load(tmp_path / "run.nc")
    for found in (run, pickle.loads(pickle.dumps(run)), loaded, pickle.loads(pickle.dumps(loaded))):
        data = found.to_xarray()
        assert [data[x].attrs["units"] for x in ("q", "u", "inputs", "time")] == ["rad", "rad/s", "N m", "s"]
        assert data.parameters.sel(parameter="k").parameter_units.item() == "N m"
        assert "units" not in data.parameters.attrs  # k and c differ
        assert data.inputs.sel(input="T").input_units.item() == "N m"


def test_a_file_without_units_of_inputs_is_read(run, tmp_path):
    data = run.to_xarray().drop_vars(list(LATER_WORDS))
    data.to_netcdf(tmp_path / "old.nc", engine="h5netcdf")
    old = kane.Trajectory.load(tmp_path / "old.nc")
    assert old.to_xarray().input_units.to_numpy().tolist() == ["?"]
    assert "inputs [SI units]" in {ax.get_ylabel() for ax in old.plot(inputs=True).axes}


def test_axes_of_plots_have_units(run, tmp_path):
    run.save(tmp_path / "run.nc")
    loaded = kane.Trajectory.load(tmp_path / "run.nc")
    assert [ax.get_ylabel() for ax in loaded.plot("T").axes] == ["inputs [N m]"]
    labels = {ax.get_ylabel() for ax in run.plot(inputs=True).axes}
    assert labels == {"q [rad]", "u [rad/s]", "energy [J]", "inputs [N m]"}


def test_an_input_that_is_a_pure_number_is_no_quaternion():
    m = kane.Model("slider")
    j = m.connect("ground", m.body("b", mass=1.0), kane.Prismatic("x", axis="x"))
    m.load(kane.Motor(j, m.parameter("F", 2.0, unit="N") * m.input("valve")))
    run = kane.simulate(kane.build(kane.formulate(m)), until=0.1, inputs={"valve": 1.0})
    assert "inputs [1]" in {ax.get_ylabel() for ax in run.plot(inputs=True).axes}


def test_ensembles_and_followed_motions_have_units():
    dyn = kane.build(kane.formulate(arm()))
    data = kane.simulate_many(dyn, until=0.1, q=[[0.1], [0.2]]).to_xarray()
    assert data.q.attrs["units"] == "rad"
    assert data.input_units.item() == "N m"
    followed = kane.follow(dyn, q={"q1": kane.sin(dyn.equations.t)}, times=[0.0, 0.1, 0.2]).to_xarray()
    assert followed.force_units.item() == "N m"
    assert "units" not in followed.udot.attrs


def test_sweeps_and_their_plots_have_units():
    dyn = kane.build(kane.formulate(arm()))
    torque = dyn.equations.parameters[1] * dyn.equations.u[0]
    sweep = kane.sweep(
        dyn, until=0.1, runs=kane.grid(k=[7.0, 8.0, 9.0]), outputs={"torque": torque, "twice": 2.0 * torque}
    )
    data = sweep.to_xarray()
    assert data["k"].attrs["units"] == "N m"
    assert data["torque"].attrs["units"] == "N m"
    assert "units" not in data["twice"].attrs  # 2.0 may be a length
    assert "k [N m]" in {ax.get_xlabel() for ax in sweep.plot(["torque"]).axes}


def test_sliders_and_values_of_pages_have_units():
    equations = kane.formulate(arm())
    page = live_page(equations, start=(0.0, [1.0, 0.0]), sliders_asked=["T", "c"], parameters={}, inputs={})
    assert [(s["name"], s["unit"]) for s in page.content["sliders"]] == [("T", "N m"), ("c", TYPED)]
    assert page.content["units"]["k"] == page.content["units"]["T"] == "N m"
    assert page.content["units"]["u1"] == "rad/s"
    (slider,) = model_page(equations, start=(0.0, [0.0, 0.0]), parameters={}).content["sliders"]
    assert slider["unit"] == "rad"


@pytest.mark.parametrize(
    ("exporter", "file", "lines"),
    [
        (kane.CSource(), "arm.c", ["parameters: k [N m], c [N m s] */", "state: t [s], q1 [rad], u1 [rad/s]"]),
        (kane.NumPySource(), "arm.py", ["rest: T [N m]", "returns: u1' [rad/s^2]", "returns: f_u1 [N m]"]),
        (kane.JAXSource(), "arm_jax.py", ["rest: u1' [rad/s^2]", "returns: q1' [rad/s]"]),
        (kane.JavaScriptSource(), "arm.mjs", ["// parameters: k [N m], c [N m s]", "// outputs: f_u1 [N m]"]),
        (kane.LaTeXDocument(), "arm.tex", [r"$k$ & $8$ & $\mathrm{N\ m}$"]),
    ],
)
def test_exported_code_has_units_in_comments(exporter, file, lines, tmp_path):
    kane.export(kane.formulate(arm()), tmp_path, exporter)
    written = (tmp_path / file).read_text("utf-8")
    for line in lines:
        assert line in written
    if exporter != kane.LaTeXDocument():
        assert WRITTEN in written


def test_units_that_contradict_each_other_are_not_shown(tmp_path):
    equations = kane.formulate(arm(lambda j, k, c, T: T - k * j.q - k * j.qdot))
    with pytest.raises(kane.ModelError, match="differ by s"):
        kane.units(equations)
    shown = shown_units(equations)
    assert (shown["k"], shown["T"], shown["c"], shown["q1"]) == ("?", "?", TYPED, "rad")
    run = kane.simulate(kane.build(equations), until=0.1, q={"q1": 1.0}, inputs={"T": 1.0})
    assert run.to_xarray().input_units.item() == "?"
    assert "inputs [SI units]" in {ax.get_ylabel() for ax in run.plot(inputs=True).axes}
    kane.export(equations, tmp_path, kane.NumPySource())
    assert "rest: T\n" in (tmp_path / "arm.py").read_text("utf-8")
    page = live_page(equations, start=(0.0, [1.0, 0.0]), sliders_asked=["T"], parameters={}, inputs={})
    assert page.content["sliders"][0]["unit"] == ""
