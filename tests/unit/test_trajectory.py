"""Trajectories: access by name, files, pictures."""

import subprocess
import sys

import h5netcdf
import numpy as np
import pytest
import xarray

import kane


def spinning_disc_on_a_rail():
    """A slider with a disc on it, thrown with an input force: rad, m and quaternions are in other models."""
    model = kane.Model("disc on a rail")
    block = model.body("block", mass=2.0)
    disc = model.body("disc", mass=1.0, inertia=(0.1, 0.1, 0.2), com=(0.1, 0, 0))
    rail = model.connect(model.ground, block, kane.Prismatic("x", axis="x"))
    model.connect(block, disc, kane.Revolute("angle", axis="y"))
    model.load(kane.Motor(rail, model.input("push")))
    return kane.build(kane.formulate(model))


@pytest.fixture(scope="module")
def run():
    dyn = spinning_disc_on_a_rail()
    return kane.simulate(dyn, until=1.0, dt=0.01, u={"angle_dot": 2.0}, inputs={"push": 0.5})


def ball():
    model = kane.Model("ball")
    model.connect(model.ground, model.body("ball", mass=1.0, inertia=(1, 2, 3)), kane.Free("base"))
    return kane.build(kane.formulate(model))


def test_everything_has_a_name(run):
    assert run.q.shape == (101, 2)
    assert (run["x"] == run.q[:, 0]).all()
    assert (run["angle"] == run.q[:, 1]).all()
    assert (run["angle_dot"] == run.u[:, 1]).all()
    assert (run["push"] == 0.5).all()
    assert (run["kinetic_energy"] + run["potential_energy"] == run.energy).all()
    assert len(run) == 101


def test_an_unknown_name_is_an_error_that_offers_near_ones(run):
    with pytest.raises(kane.ModelError, match="'angel'; did you mean angle"):
        run["angel"]


def test_energies_are_those_of_the_dynamics(run):
    dyn = spinning_disc_on_a_rail()
    energy = dyn.energy(run.q, run.u)
    assert (run["kinetic_energy"] == energy.kinetic).all()
    assert (run["potential_energy"] == energy.potential).all()


def test_the_dataset_has_names_and_units_and_is_a_copy(run):
    data = run.to_xarray()
    assert data.q.sel(coordinate="angle").coordinate_units.item() == "rad"
    assert data.q.sel(coordinate="x").coordinate_units.item() == "m"
    assert data.u.sel(speed="x_dot").speed_units.item() == "m/s"
    assert data.time.attrs["units"] == "s"
    assert data.attrs["model"] == "disc on a rail"
    data["q"][:] = np.nan
    assert np.isfinite(run.q).all()


def test_the_data_frame_has_a_row_for_each_time_and_a_column_for_each_name(run):
    frame = run.to_pandas()
    assert (frame.index == run.time).all()
    assert frame.index.name == "time"
    assert {"x", "angle", "x_dot", "angle_dot", "push", "kinetic_energy", "potential_energy", "energy"} == {*frame}
    for name in frame:
        assert (frame[name] == run[name]).all()


def test_the_final_state_is_the_last_one_and_a_copy(run):
    final = run.final
    assert final.time == 1.0
    assert (final.q == run.q[-1]).all()
    final.q[:] = np.nan
    assert np.isfinite(run.q).all()


def test_its_text_says_what_it_is(run):
    assert repr(run) == "<Trajectory of 'disc on a rail': 101 states from 0 s to 1 s, 2 coordinates, 2 speeds>"


def test_a_saved_trajectory_comes_back_whole(run, tmp_path):
    path = tmp_path / "run.nc"
    run.save(path)
    back = kane.Trajectory.load(path)
    xarray.testing.assert_identical(back.to_xarray(), run.to_xarray())
    assert [p.name for p in tmp_path.iterdir()] == ["run.nc"]


def test_a_trajectory_without_inputs_and_parameters_comes_back_whole(tmp_path):
    run = kane.simulate(ball(), until=0.1)
    run.save(tmp_path / "ball.nc")
    back = kane.Trajectory.load(str(tmp_path / "ball.nc"))
    xarray.testing.assert_identical(back.to_xarray(), run.to_xarray())
    back.save(tmp_path / "again.nc")
    assert kane.Trajectory.load(tmp_path / "again.nc").inputs.shape == (len(run), 0)


def test_saving_replaces_an_earlier_file(run, tmp_path):
    path = tmp_path / "run.nc"
    path.write_text("an earlier file")
    run.save(path)
    assert len(kane.Trajectory.load(path)) == 101


@pytest.mark.parametrize("name", ["run.csv", "run.json", "run"])
def test_a_name_that_promises_another_kind_of_file_is_refused_before_anything_is_written(run, name, tmp_path):
    with pytest.raises(kane.errors.FileError, match=r"NetCDF: end it with \.nc"):
        run.save(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_saving_where_nothing_can_be_written_leaves_nothing_behind(run, tmp_path):
    with pytest.raises(OSError):
        run.save(tmp_path / "missing" / "run.nc")
    assert list(tmp_path.iterdir()) == []


def test_anything_that_reads_hdf5_reads_it(run, tmp_path):
    run.save(tmp_path / "run.nc")
    with h5netcdf.File(tmp_path / "run.nc") as file:
        assert file["q"].dimensions == ("time", "coordinate")
        assert (file["q"][...] == run.q).all()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda d: d.assign_attrs(format="other"), "attribute 'format' is 'other'"),
        (lambda d: d.assign_attrs(format_version=2), "format version is 2.*use a newer kane"),
        (lambda d: d.assign_attrs(format_version="one"), "format version is one"),
        (lambda d: d.drop_vars("u"), "variable 'u' is missing"),
        (lambda d: d.drop_vars("time"), "variable 'time' is missing"),
        (lambda d: d.assign(q=d.q.T), r"'q' has the dimensions \('coordinate', 'time'\)"),
        (lambda d: d.assign(q=d.q.astype("f4")), "'q' holds float32"),
        (lambda d: d.assign_coords(speed=[1, 2]), "'speed' does not hold text"),
        (lambda d: d.isel(time=slice(0, 0)), "it has no times"),
    ],
)
def test_a_file_that_is_no_trajectory_is_an_error_that_says_why(run, tmp_path, damage, message):
    path = tmp_path / "other.nc"
    damage(run.to_xarray()).to_netcdf(path, engine="h5netcdf")
    with pytest.raises(kane.ImportFileError, match=f"other.nc.*{message}"):
        kane.Trajectory.load(path)


@pytest.mark.parametrize("content", [b"", b"no NetCDF at all", b"\x89HDF\r\n\x1a\n" + bytes(100)])
def test_a_file_that_is_no_netcdf_is_an_error(tmp_path, content):
    (tmp_path / "bad.nc").write_bytes(content)
    with pytest.raises(kane.ImportFileError, match=r"bad.nc' cannot be read as NetCDF"):
        kane.Trajectory.load(tmp_path / "bad.nc")


def test_a_truncated_file_is_an_error(run, tmp_path):
    run.save(tmp_path / "run.nc")
    whole = (tmp_path / "run.nc").read_bytes()
    (tmp_path / "half.nc").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(kane.ImportFileError, match=r"half\.nc"):
        kane.Trajectory.load(tmp_path / "half.nc")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(kane.FileError, match=r"the file of a trajectory, .*missing\.nc.* cannot be read"):
        kane.Trajectory.load(tmp_path / "missing.nc")


def test_every_variable_of_a_run_is_the_one_of_its_dataset(run):
    data = run.to_xarray()
    for name in ("q", "u", "inputs", "time"):
        assert (getattr(run, name) == data[name].to_numpy()).all()
    assert (run["kinetic_energy"] == data["kinetic_energy"].to_numpy()).all()


def test_a_simulation_does_not_wait_for_xarray():
    # Importing it takes half a second, labelling a run as long as 5 s of the Panda: only who asks for labels pays.
    program = (
        "import sys, kane\n"
        "model = kane.Model('ball')\n"
        "model.connect(model.ground, model.body('ball', mass=1.0, inertia=(1, 2, 3)), kane.Free('base'))\n"
        "run = kane.simulate(kane.build(kane.formulate(model)), until=0.1)\n"
        "assert run.q.shape[1] == 7 and run.final.time == 0.1 and 'states' in repr(run)\n"
        "assert 'xarray' not in sys.modules, 'before labels are asked for'\n"
        "assert run.to_xarray().sizes['coordinate'] == 7\n"
        "assert 'xarray' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_how_constraints_were_kept_has_courses_by_name_too(run):
    loop = kane.build(kane.formulate(kane.library.four_bar()))
    start = kane.assemble(loop, q={"q1": 1.0, "q3": 1.5}, fixed=["q1"])
    closed = kane.simulate(loop, until=0.1, q=start.q)
    whole = closed.to_xarray()
    for name in ("configuration_residual", "motion_residual", "configuration_drift", "motion_drift", "conditioning"):
        np.testing.assert_array_equal(closed[name], whole[name])
    assert (closed["conditioning"] > 0.0).all()
    assert (closed["switches"] >= 0).all()
    with pytest.raises(kane.ModelError, match="energy or residual 'conditioning'"):
        run["conditioning"]


def test_the_sum_of_energies_has_its_name(run):
    np.testing.assert_array_equal(run["energy"], run["kinetic_energy"] + run["potential_energy"])
