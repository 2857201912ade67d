"""Robots of the operation budgets, from example-robot-data, with bases and locks as in the table of other libraries."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import kane
from kane.importers.urdf.urdf import load_urdf

FOLDER = "cmeel.prefix/share/example-robot-data/robots"
FINGERS = ("panda_finger_joint1", "panda_finger_joint2")


def robot_file(name: str) -> Path:
    """Return the path of a file of example-robot-data."""
    try:
        path = Path(str(distribution("example-robot-data").locate_file(FOLDER))) / name
    except PackageNotFoundError:
        raise AssertionError("example-robot-data is not installed; pip install '.[test]'") from None
    assert path.is_file(), f"example-robot-data has no {path}; the budgets were made with version 6.0"
    return path


def ur5() -> kane.Model:
    """Return the UR5, with six joints."""
    return load_urdf(robot_file("ur_description/urdf/ur5_robot.urdf"))


def panda() -> kane.Model:
    """Return the Panda, with seven joints and locked fingers."""
    return load_urdf(robot_file("panda_description/urdf/panda.urdf"), lock=FINGERS)


def anymal() -> kane.Model:
    """Return ANYmal C, which has 18 speeds with its free base."""
    return load_urdf(robot_file("anymal_c_simple_description/urdf/anymal.urdf"), base=kane.Free("base"))


def talos() -> kane.Model:
    """Return the reduced Talos, which has 38 speeds with its free base."""
    return load_urdf(robot_file("talos_data/robots/talos_reduced.urdf"), base=kane.Free("base"))
