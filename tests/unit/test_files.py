"""Files: written whole or not at all, read within a time limit, refused by name."""

import re
import time
from pathlib import Path

import numpy as np
import pytest

import kane
from kane.simulation.results.hdf5_trial import problem_of_reading

# A trajectory of a pendulum with one byte changed (place 3024): HDF5 2.0 loops on it, as on 3 more of 1461 tried.
ENDLESS = Path(__file__).parents[1] / "oracles" / "endless_trajectory.nc"


@pytest.fixture(scope="module")
def saved():
    """Everything that kane writes into a file, by name: called with its path."""
    equations = kane.formulate(kane.library.n_link_pendulum(1))
    dyn = kane.build(equations)
    run = kane.simulate(dyn, until=0.02, dt=0.01)
    ensemble = kane.simulate_many(dyn, until=0.02, u=np.zeros((2, 2)))
    model = equations.model
    return {"trajectory": run.save, "ensemble": ensemble.save, "model": lambda path: kane.save_model(model, path)}


KINDS = ("trajectory", "ensemble", "model")


@pytest.mark.parametrize("kind", KINDS)
def test_saving_into_a_missing_folder_is_an_error_that_names_folder_and_file(saved, tmp_path, kind):
    with pytest.raises(kane.FileError, match=r"no folder '.*absent' to write 'a\.nc' in; make it first"):
        saved[kind](tmp_path / "absent" / "a.nc")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", KINDS)
def test_saving_where_a_folder_is_or_to_no_path_is_an_error(saved, tmp_path, kind):
    folder = tmp_path / "a.nc"
    folder.mkdir()
    with pytest.raises(kane.FileError, match="is a folder; give the name of a file in it"):
        saved[kind](folder)
    with pytest.raises(kane.FileError, match="is 3; give a path"):
        saved[kind](3)
    with pytest.raises(kane.FileError, match="give a path, a text without odd characters"):
        saved[kind]("a\0b.nc")
    with pytest.raises(kane.FileError, match="name too long"):
        saved[kind](tmp_path / f"{'a' * 400}.nc")
    saved[kind](tmp_path / f"{'a' * 247}.nc")  # as long as names can be, and nothing beside it is longer


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_replaces_an_earlier_one_and_leaves_nothing_beside_it(saved, tmp_path, kind):
    (tmp_path / "a.nc").write_text("an earlier one")
    saved[kind](tmp_path / "a.nc")
    assert (tmp_path / "a.nc").stat().st_size > 100
    assert [p.name for p in tmp_path.iterdir()] == ["a.nc"]


def test_exports_where_a_file_stands_in_the_way_are_refused_by_name(tmp_path):
    equations = kane.formulate(kane.library.n_link_pendulum(1))
    (tmp_path / "file").write_text("")
    with pytest.raises(kane.FileError, match="file' cannot be made"):
        kane.export(equations, tmp_path / "file", kane.Listing())
    with pytest.raises(kane.FileError, match="is None; give a path"):
        kane.export(equations, None, kane.Listing())


def test_an_error_of_files_is_one_of_the_system_too():
    assert issubclass(kane.FileError, OSError)
    assert issubclass(kane.FileError, kane.KaneError)


def test_a_file_from_which_hdf5_never_returns_is_refused_within_the_limit(monkeypatch):
    monkeypatch.setattr(problem_of_reading, "__kwdefaults__", {"seconds": 3.0})
    began = time.perf_counter()
    with pytest.raises(kane.ImportFileError, match=r"endless_trajectory.nc' cannot be read.*damaged.*another copy"):
        kane.Trajectory.load(ENDLESS)
    assert time.perf_counter() - began < 60.0  # the limit is 3 s, the rest is a busy machine; unwatched, it has no end


def test_a_reader_that_crashes_is_told_from_one_that_fails(monkeypatch, tmp_path):
    (tmp_path / "a.nc").write_bytes(b"no NetCDF")
    assert re.search("OSError|not", problem_of_reading(tmp_path / "a.nc"))
    monkeypatch.setattr("kane.simulation.results.hdf5_trial._READ_ALL", "import os; os.abort()")
    assert problem_of_reading(tmp_path / "a.nc") == "HDF5 crashed on it (signal 6)"
