"""kane and its peers on one robot: built, checked against each other, ready to be timed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

import kane
from benchmarks.kane_loop import KaneLoop
from benchmarks.peers.pinocchio_models import text_of
from benchmarks.peers.pinocchio_native import PinocchioNative
from benchmarks.peers.toolchain import PeerMissingError
from benchmarks.peers.traced import Build, Traced
from benchmarks.robots import Robot
from benchmarks.states import Layout, States, layout, random_states

Array = npt.NDArray[np.float64]
# Two orders of evaluation in double precision on models of up to some tens of bodies; files give pi to 11 digits,
# which kane takes for pi and Pinocchio as printed.
AGREEMENT = 1e-7


@dataclass
class Ours:
    """kane's side of one robot.

    Attributes:
        dynamics: what was built.
        states: where it is evaluated.
        loops: "inverse" and "forward", ready to run.
    """

    dynamics: kane.Dynamics
    states: States
    loops: dict[str, KaneLoop]

    @classmethod
    def of(cls, robot: Robot) -> "Ours":
        """Derives, compiles and sets up the loops."""
        dynamics = kane.build(kane.formulate(robot.model()))
        states = random_states(dynamics.equations)
        state = np.hstack([np.zeros((len(states.q), 1)), states.q, states.u])
        rests = {"inverse": states.udot, "forward": states.efforts}
        loops = {}
        for name, rest in rests.items():
            function = dynamics.function(name)
            loops[name] = KaneLoop(function, state, rest, function.stage(dynamics.parameters))
        return cls(dynamics, states, loops)

    def count(self, name: str) -> dict[str, int]:
        """Operations of "inverse" or "forward" at run time."""
        return self.loops[name].function.program.count()


@dataclass
class Peers:
    """Pinocchio's side of one robot, its states given in Pinocchio's layout.

    Attributes:
        traced: traced C, by a word for how it is compiled.
    """

    layout: Layout
    model: Any
    traced: dict[str, Traced]
    native: PinocchioNative
    arrays: dict[str, tuple[Array, Array, Array]]

    @classmethod
    def of(cls, robot: Robot, ours: Ours, builds: Mapping[str, Build]) -> "Peers":
        """Builds what is not in the cache.

        Raises:
            PeerMissingError: a package or a compiler is missing.
        """
        model = robot.peer_model()
        order, states = layout(ours.dynamics.equations, model), ours.states
        q, v = states.q[:, order.q], states.u[:, order.u]
        arrays = {"inverse": (q, v, states.udot[:, order.u]), "forward": (q, v, order.peer_efforts(states.efforts))}
        text = text_of(model)
        native = PinocchioNative(text, [*arrays["inverse"], arrays["forward"][2]])
        traced = {key: Traced.of(text, model.nq, model.nv, how) for key, how in builds.items()}
        return cls(order, model, traced, native, arrays)

    def contestants(self, name: str) -> dict[str, Callable[[int], object]]:
        """Functions run(calls), by the name of the peer, for "inverse" or "forward"."""
        algorithms = {"inverse": ["rnea"], "forward": ["aba WORLD", "aba LOCAL"]}[name]
        runs: dict[str, Callable[[int], object]] = {a: partial(self.native.run, a) for a in algorithms}
        return runs | self.traced_contestants(name)

    def traced_contestants(self, name: str, *, chained: bool = False) -> dict[str, Callable[[int], object]]:
        """Those of traced C; ``chained``: each call waits for the one before."""

        def run(traced: Traced, calls: int) -> object:
            return traced.loop(name, calls, self.arrays[name], chained=chained)

        return {key: partial(run, traced) for key, traced in self.traced.items()}

    def disagreement(self, name: str, ours: Ours) -> float:
        """Largest difference of any peer from kane over the states, relative to the largest result of its state."""
        loop = ours.loops[name]
        loop.run(len(loop.out))
        reference = loop.out[:, self.layout.u]
        size = np.abs(reference).max(axis=1, keepdims=True)
        algorithm = "rnea" if name == "inverse" else "aba WORLD"
        results = [np.array([self.native.value(algorithm, i) for i in range(len(size))])]
        results += [traced.loop(name, len(size), self.arrays[name]) for traced in self.traced.values()]
        return max(float(np.abs((result - reference) / size).max()) for result in results)

    def close(self) -> None:
        """Frees Pinocchio's model, whose workspace grows with the cube of the number of joints."""
        self.native.close()


def fastest(figures: Mapping[str, Any], names: list[str]) -> str:
    """The name with the least median."""
    return min((name for name in names if name in figures), key=lambda name: figures[name].median)


def peers_or_reason(robot: Robot, ours: Ours, builds: Mapping[str, Build]) -> Peers | str:
    """The peers, traced C as often as ``builds`` says, or in words why there are none."""
    try:
        return Peers.of(robot, ours, builds)
    except PeerMissingError as missing:
        return str(missing)
