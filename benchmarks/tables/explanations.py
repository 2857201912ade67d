"""Explanations of a 7-joint arm: CPU seconds of each kind, and units of a humanoid."""

import time
from collections.abc import Callable
from typing import Any

import kane
from benchmarks.mode import Mode
from benchmarks.report import Table, seconds
from benchmarks.robots import PANDA, TALOS
from benchmarks.timing import Figure

TITLE = "Explanations"
COLUMNS = ("work", "s", "goal, s")
NOTE = (
    "CPU seconds of one call with fresh equations, after a first call that imports the modules; medians with "
    "(least-greatest). The Panda has 7 joints. Its automaton has a hand that may touch, stick to and slip on a floor. "
    "The box of enclose is +-1e-3 rad around a pose; boxes have no goal."
)
GOAL, GOAL_OF_UNITS = 1.0, 0.1  # s, issue 32
POSE = [0.3, -0.4, 0.5, -1.5, 0.2, 1.2, 0.1]
WIDTH = 1e-3  # rad


def table(mode: Mode) -> Table:
    """Measures every kind of explanation with fresh equations."""
    result = Table(TITLE, COLUMNS, notes=[NOTE])
    arm = PANDA.model()
    equations = kane.formulate(arm)
    names = [leaf.data for leaf in equations.q]
    speed, still = equations.u[1].data, [0.0] * len(equations.inputs)
    box = {name: (x - WIDTH, x + WIDTH) for name, x in zip(names, POSE, strict=True)}
    works: dict[str, tuple[Callable[[], Any], Callable[[Any], Any], float | None]] = {
        "units of Talos": (lambda: kane.formulate(TALOS.model()), kane.units, GOAL_OF_UNITS),
        "units": (lambda: kane.formulate(arm), kane.units, GOAL),
        "explain one equation": (lambda: kane.formulate(arm), lambda e: kane.explain(e, speed), GOAL),
        "why": (lambda: kane.formulate(arm), lambda e: kane.why(e, speed, "gravity"), GOAL),
        "shares at a state": (
            lambda: kane.explain(kane.formulate(arm), speed),
            lambda x: x.at(q=POSE, inputs=still),
            GOAL,
        ),
        "compare models": (lambda: (arm, _with_payload()), lambda pair: kane.compare(*pair), GOAL),
        "compare equations": (
            lambda: (kane.formulate(arm), kane.formulate(_with_payload())),
            lambda pair: kane.compare(*pair),
            GOAL,
        ),
        "modes_graph": (lambda: kane.build(kane.formulate(_touching())), kane.modes_graph, GOAL),
        "digits of udot": (
            lambda: kane.build(kane.formulate(arm)),
            lambda dyn: kane.digits(dyn, q=POSE, inputs=still),
            GOAL,
        ),
        "enclose torques": (
            lambda: kane.build(kane.formulate(arm)),
            lambda dyn: kane.enclose(dyn, box, udot=[0.0] * len(names), quantity="inverse"),
            None,
        ),
    }
    for title, (prepare, call, goal) in works.items():
        found = Figure(tuple(_cpu_seconds(prepare, call) for _ in range(mode.processes + 1))[1:])
        result.rows.append([title, seconds(found), "" if goal is None else f"{goal:g}"])
        result.alone(title, found)
    return result


def _cpu_seconds(prepare: Callable[[], Any], call: Callable[[Any], Any]) -> float:
    given = prepare()
    before = time.process_time()
    call(given)
    return time.process_time() - before


def _with_payload() -> kane.Model:
    """The Panda with 10 g in its hand."""
    model = PANDA.model()
    hand = model.bodies[-1]
    model.connect(hand, model.body("payload", mass=0.01), kane.Weld())
    return model


def _touching() -> kane.Model:
    model = PANDA.model()
    floor = kane.Plane(model.ground.point(), model.ground.z)
    model.contact(kane.Sphere(model.bodies[-1].point(), 0.05), floor, friction=kane.Coulomb(0.5), name="hand")
    return model
