"""The robots of the tables, each as a kane model and as a Pinocchio model of the same numbers."""

import importlib.metadata
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import kane
from benchmarks import trees
from benchmarks.peers.pinocchio_models import model_of_tree, model_of_urdf, tree_of
from benchmarks.peers.toolchain import PeerMissingError
from kane.geometry.rotation import Rotation


class Robot(Protocol):
    """What the tables ask of a robot."""

    @property
    def title(self) -> str:
        """For the first column."""

    def model(self) -> kane.Model:
        """Described to kane, with a motor on every joint (none on a free base)."""

    def peer_model(self) -> Any:
        """Described to Pinocchio."""

    def numbers(self) -> trees.Tree:
        """Described to SymPy."""


@dataclass(frozen=True)
class NumberedRobot:
    """A robot given by the numbers of a Tree."""

    tree: trees.Tree

    @property
    def title(self) -> str:
        """The tree's name."""
        return self.tree.name

    def model(self) -> kane.Model:
        """Described to kane."""
        model = kane.Model(self.tree.name, gravity=self.tree.gravity)
        bodies = [model.ground]
        for link in self.tree.links:
            body = model.body(f"{link.name}_body", mass=link.mass, com=link.centre, inertia=link.inertia)
            kind = kane.Revolute if link.kind == "R" else kane.Prismatic
            joint = kind(link.name, axis=link.axis)
            orientation = Rotation.matrix(link.rotation)
            parent = bodies[link.parent + 1]
            connection = model.connect(parent, body, joint, at=link.position, orientation=orientation)
            model.load(kane.Motor(connection, model.input(f"tau_{link.name}")))
            bodies.append(body)
        return model

    def peer_model(self) -> Any:
        """Described to Pinocchio."""
        return model_of_tree(self.tree)

    def numbers(self) -> trees.Tree:
        """Described to SymPy."""
        return self.tree


@dataclass(frozen=True)
class UrdfRobot:
    """A robot read from a file of the package example-robot-data.

    Attributes:
        title: for the first column.
        file: path below the package's folder of robots.
        free: whether the base is free.
        locked: joints held at zero.
    """

    title: str
    file: str
    free: bool = False
    locked: tuple[str, ...] = field(default=())

    def path(self) -> Path:
        """Where the file is.

        Raises:
            PeerMissingError: example-robot-data is not installed.
        """
        try:
            package = importlib.metadata.distribution("example-robot-data")
        except importlib.metadata.PackageNotFoundError as error:
            raise PeerMissingError("example-robot-data is not installed (pip install '.[bench]')") from error
        return Path(str(package.locate_file("cmeel.prefix/share/example-robot-data/robots"))) / self.file

    def model(self) -> kane.Model:
        """Described to kane."""
        base = kane.Free("base") if self.free else None
        model = kane.load_urdf(self.path(), base=base, lock=self.locked, stops=False)
        # Pinocchio's rnea and aba leave the damping that the file gives out.
        model.loads[:] = [load for load in model.loads if not isinstance(load, kane.Damper)]
        return model

    def peer_model(self) -> Any:
        """Described to Pinocchio."""
        return model_of_urdf(self.path(), free=self.free, locked=self.locked)

    def numbers(self) -> trees.Tree:
        """Described to SymPy, as Pinocchio reads the file.

        Raises:
            PeerMissingError: Pinocchio is not installed, or the robot is not an arm.
        """
        return tree_of(self.peer_model(), self.title)


STANFORD = NumberedRobot(trees.stanford_arm())
UR5 = UrdfRobot("UR5", "ur_description/urdf/ur5_robot.urdf")
PANDA = UrdfRobot(
    "Panda 7R", "panda_description/urdf/panda.urdf", locked=("panda_finger_joint1", "panda_finger_joint2")
)
ANYMAL = UrdfRobot("ANYmal C, free base", "anymal_c_simple_description/urdf/anymal.urdf", free=True)
TALOS = UrdfRobot("Talos reduced, free base", "talos_data/robots/talos_reduced.urdf", free=True)
FIVE = (STANFORD, UR5, PANDA, ANYMAL, TALOS)
ARMS = (STANFORD, UR5, PANDA)


def chain(n: int) -> NumberedRobot:
    """n revolute joints in a row."""
    return NumberedRobot(trees.chain(n))


def general_arm(n: int) -> NumberedRobot:
    """n revolute joints with generic geometry and inertia."""
    return NumberedRobot(trees.general_arm(n))


_FAMILIES: dict[str, Callable[[int], NumberedRobot]] = {"chain": chain, "general": general_arm}
_NAMED: dict[str, Robot] = {"stanford": STANFORD, "ur5": UR5, "panda": PANDA, "anymal": ANYMAL, "talos": TALOS}


def robot_named(key: str) -> Robot:
    """The robot of a key: "ur5", "chain-30", "general-6", ..., by which a process tells another what to measure."""
    family, _, number = key.partition("-")
    return _FAMILIES[family](int(number)) if number else _NAMED[key]


def key_of(robot: Robot) -> str:
    """The key under which `robot_named` finds one of the named robots."""
    return next(key for key, named in _NAMED.items() if named is robot)
