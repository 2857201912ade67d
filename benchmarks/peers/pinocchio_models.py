"""Pinocchio models of the benchmark's robots, and the text form in which the C++ programs read them."""

from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from benchmarks.peers.toolchain import PeerMissingError
from benchmarks.trees import Link, Row, Tree


def pinocchio() -> ModuleType:
    """The Python package.

    Raises:
        PeerMissingError: not installed.
    """
    try:
        import pinocchio as package
    except ImportError as error:
        raise PeerMissingError("pin is not installed (pip install '.[bench]')") from error
    if not hasattr(package, "buildModelFromUrdf"):
        raise PeerMissingError("the package pinocchio found is not the robotics library (pip install pin)")
    return package


def model_of_urdf(path: Path, *, free: bool, locked: Sequence[str]) -> Any:
    """Reads a URDF file, with a fixed or free base, and locks joints at zero."""
    pin = pinocchio()
    model = pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer()) if free else pin.buildModelFromUrdf(str(path))
    if locked:
        model = pin.buildReducedModel(model, [model.getJointId(name) for name in locked], pin.neutral(model))
    return model


def model_of_tree(tree: Tree) -> Any:
    """A tree written down in numbers."""
    pin = pinocchio()
    model = pin.Model()
    model.gravity.linear = np.array(tree.gravity)
    for link in tree.links:
        joint = getattr(pin, f"JointModel{link.kind}{link.axis.upper()}")()
        placement = pin.SE3(np.array(link.rotation), np.array(link.position))
        index = model.addJoint(link.parent + 1, joint, placement, link.name)
        model.appendBodyToJoint(index, pin.Inertia(link.mass, np.array(link.centre), _matrix(link)), pin.SE3.Identity())
    return model


def _matrix(link: Link) -> Any:
    xx, yy, zz, xy, xz, yz = link.inertia
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def tree_of(model: Any, name: str) -> Tree:
    """The numbers of a tree of revolute and prismatic joints about axes of their frames.

    Raises:
        PeerMissingError: a joint is of another kind.
    """
    gravity = _row(model.gravity.linear)
    return Tree(name, tuple(_link(model, i) for i in range(1, model.njoints)), gravity=gravity)


def _link(model: Any, i: int) -> Link:
    kind, placement, inertia = joint_kind(model.joints[i]), model.jointPlacements[i], model.inertias[i]
    if len(kind) != 2 or kind[0] not in "RP" or kind[1] not in "XYZ":
        raise PeerMissingError(f"measured for arms only, not for a joint {kind}")
    J = inertia.inertia
    return Link(
        name=model.names[i],
        kind=kind[0],
        axis=kind[1].lower(),
        parent=model.parents[i] - 1,
        position=_row(placement.translation),
        rotation=(_row(placement.rotation[0]), _row(placement.rotation[1]), _row(placement.rotation[2])),
        mass=float(inertia.mass),
        centre=_row(inertia.lever),
        inertia=(*_row(np.diag(J)), *_row((J[0, 1], J[0, 2], J[1, 2]))),
    )


def _row(values: Any) -> Row:
    x, y, z = (float(value) for value in values)
    return x, y, z


def joint_kind(joint: Any) -> str:
    """Pinocchio's short name of a joint type without its prefix: RX, PZ, FreeFlyer, RevoluteUnaligned, ..."""
    return str(joint.shortname()).replace("JointModel", "")


def joint_axis(joint: Any) -> Any:
    """The axis of a one-degree-of-freedom joint in its own frame, a unit vector of shape (3,)."""
    kind = joint_kind(joint)
    if kind[-1] in "XYZ":
        return np.eye(3)["XYZ".index(kind[-1])]
    return np.array(joint.extract().axis)


def text_of(model: Any) -> str:
    """The model in the format that native/model_file.hpp reads."""
    lines = [str(model.njoints - 1), _numbers(model.gravity.linear)]
    for i in range(1, model.njoints):
        joint, placement, inertia = model.joints[i], model.jointPlacements[i], model.inertias[i]
        axis = np.zeros(3) if joint_kind(joint) == "FreeFlyer" else joint_axis(joint)
        parts = [axis, placement.rotation, placement.translation, inertia.mass, inertia.lever, inertia.inertia]
        lines.append(f"{model.parents[i]} {joint_kind(joint)} " + " ".join(_numbers(part) for part in parts))
    return "\n".join(lines) + "\n"


def _numbers(values: Any) -> str:
    return " ".join(f"{value:.17g}" for value in np.ravel(values))
