"""Andrews' squeezing mechanism in Exudyn: rigid bodies in the plane, revolute joints by multipliers."""

from types import ModuleType

import numpy as np
import numpy.typing as npt

from benchmarks.peers.toolchain import PeerMissingError
from kane.library.andrews_squeezer import ANDREWS_START, MEET, SC, SD, SQUEEZER_BODIES, SQUEEZER_JOINTS, C, D

Array = npt.NDArray[np.float64]


def _exudyn() -> ModuleType:
    try:
        import exudyn
        import exudyn.itemInterface
    except ImportError as error:
        raise PeerMissingError("exudyn is not installed (pip install '.[bench]')") from error
    return exudyn


class ExudynSqueezer:
    """The mechanism at its start, and the implicit trapezoidal rule, with multipliers and constraints of velocity.

    Args:
        torque: on K1 [N m].
        stiffness, rest: of the spring [N/m, m].
    """

    def __init__(self, torque: float = 0.033, stiffness: float = 4530.0, rest: float = 0.07785) -> None:
        self._exu = _exudyn()
        self._items = self._exu.itemInterface
        self._container = self._exu.SystemContainer()
        self._mbs = self._container.AddSystem()
        self._ground = self._mbs.AddObject(self._items.ObjectGround())
        self._bodies: dict[str, int] = {}
        self._nodes: dict[str, int] = {}
        self._angles = {"ground": 0.0}
        self._origins = {"ground": np.zeros(2)}
        for name, (parent, coordinate, at) in SQUEEZER_JOINTS.items():
            self._add(name, parent, ANDREWS_START[coordinate], np.array(at[:2]))
        for name, at in MEET.items():
            self._pin(name, np.array(at[:2]), "K2", np.array([-D, 0.0]))
        load = self._items.LoadTorqueVector(markerNumber=self._marker("K1", np.zeros(2)), loadVector=[0.0, 0.0, torque])
        self._mbs.AddLoad(load)
        ends = [self._marker("K3", np.array([SD, -SC])), self._marker("ground", np.array(C[:2]))]
        spring = self._items.ObjectConnectorSpringDamper(markerNumbers=ends, referenceLength=rest, stiffness=stiffness)
        self._mbs.AddObject(spring)
        self._mbs.Assemble()
        self._start = self._mbs.systemData.GetSystemState()

    def _add(self, name: str, parent: str, turn: float, at: Array) -> None:
        mass, moment, com = SQUEEZER_BODIES[name]
        angle = self._angles[parent] + turn
        origin = self._origins[parent] + _turned(self._angles[parent], at)
        self._angles[name], self._origins[name] = angle, origin
        place = origin + _turned(angle, np.array(com[:2]))
        self._nodes[name] = self._mbs.AddNode(
            self._items.NodeRigidBody2D(referenceCoordinates=[*place, angle], initialVelocities=[0.0, 0.0, 0.0])
        )
        body = self._items.ObjectRigidBody2D(physicsMass=mass, physicsInertia=moment, nodeNumber=self._nodes[name])
        self._bodies[name] = self._mbs.AddObject(body)
        self._pin(name, np.zeros(2), parent, at)

    def _marker(self, name: str, at: Array) -> int:
        """A marker at a point of a body, in its frame of ``SQUEEZER_BODIES``."""
        if name == "ground":
            body, local = self._ground, at
        else:
            body, local = self._bodies[name], at - np.array(SQUEEZER_BODIES[name][2][:2])
        return int(self._mbs.AddMarker(self._items.MarkerBodyRigid(bodyNumber=body, localPosition=[*local, 0.0])))

    def _pin(self, name: str, at: Array, other: str, there: Array) -> None:
        markers = [self._marker(name, at), self._marker(other, there)]
        self._mbs.AddObject(self._items.ObjectJointRevolute2D(markerNumbers=markers))

    def run(self, steps: int, span: float = 0.03) -> Array:
        """q after ``span`` seconds in so many steps, in the order of ``ANDREWS_START``."""
        self._mbs.systemData.SetSystemState(self._start)
        settings = self._exu.SimulationSettings()
        integration = settings.timeIntegration
        integration.endTime, integration.numberOfSteps = span, steps
        integration.verboseMode = 0
        integration.newton.useModifiedNewton = False  # with it, errors of 6e-6 remain however short the steps
        settings.solutionSettings.writeSolutionToFile = False
        self._mbs.SolveDynamic(settings, solverType=self._exu.DynamicSolverType.TrapezoidalIndex2)
        absolute = {name: self._turn(name) for name in self._nodes} | {"ground": 0.0}
        found = {
            coordinate: absolute[name] - absolute[parent] for name, (parent, coordinate, _) in SQUEEZER_JOINTS.items()
        }
        return np.array([found[coordinate] for coordinate in ANDREWS_START])

    def _turn(self, name: str) -> float:
        turned = self._mbs.GetNodeOutput(self._nodes[name], self._exu.OutputVariableType.Coordinates)[2]
        return self._angles[name] + float(turned)


def _turned(angle: float, at: Array) -> Array:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s], [s, c]]) @ at
