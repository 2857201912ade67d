"""Many bodies in contact by Moreau-Jean time steps, beside MuJoCo with the same step."""

import itertools
import math
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import kane
from benchmarks.mode import Mode
from benchmarks.report import Table

Array = npt.NDArray[np.float64]
STEP, FRICTION, EDGE, RADIUS = 2e-3, 0.5, 0.3, 0.05
BOXES, BALLS = (1, 4, 16, 64, 128), (2, 4, 8, 16)
PLANE = "<geom type='plane' size='50 50 1' pos='{} {} {}' zaxis='{} {} {}' contype='1' conaffinity='2'/>"
BODY = (
    "<body><freejoint/><inertial pos='0 0 0' mass='1' diaginertia='{0} {0} {0}'/>"
    "<geom type='{1}' size='{2}' contype='{3}' conaffinity='3'/></body>"
)


class Scene(NamedTuple):
    """Equal free bodies of 1 kg, for both programs.

    Attributes:
        title: of the row.
        model: kane's.
        mjcf: MuJoCo's.
        states: position [m], quaternion, velocity in the world [m/s] and angular velocity in the body [rad/s] of each.
        until: duration [s].
        located: whether a run with located events serves as reference.
    """

    title: str
    model: kane.Model
    mjcf: str
    states: list[tuple[Array, Array, Array, Array]]
    until: float
    located: bool

    @property
    def start(self) -> dict[str, Array]:
        """q and u for kane, whose velocities are along the axes of the body."""
        q = [x for place, turn, _, _ in self.states for x in (*turn, *place)]
        u = [x for _, turn, v, w in self.states for x in (*w, *(_matrix(turn).T @ v))]
        return {"q": np.array(q), "u": np.array(u)}


def _matrix(quaternion: Array) -> Array:
    w, v = quaternion[0], quaternion[1:]
    cross = np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])
    return np.asarray(np.eye(3) + 2 * (w * cross + cross @ cross))


def _scene(
    title: str, states: list[Any], until: float, *, walls: Any = (), pairs: Any = (), balls: bool = False
) -> Scene:
    """Return bodies over a floor, with further planes (point, normal) and pairs that may touch."""
    m, shapes, rough = kane.Model(title, gravity=(0, 0, -9.81)), [], kane.Coulomb(FRICTION)
    inertia = 0.4 * RADIUS**2 if balls else EDGE**2 / 6
    for k in range(len(states)):
        body = m.body(f"b{k}", mass=1.0, inertia=(inertia,) * 3)
        m.connect(m.ground, body, kane.Free(f"f{k}"))
        shapes.append(kane.Sphere(body.point(), RADIUS) if balls else body.shape(kane.Box(EDGE, EDGE, EDGE)))
        for j, (point, normal) in enumerate((((0, 0, 0), (0, 0, 1)), *walls)):
            plane = kane.Plane(m.ground.point(point), m.ground.direction(normal))
            m.contact(shapes[k], plane, friction=rough, name=f"plane{k}_{j}")
    for i, j in pairs:
        m.contact(shapes[i], shapes[j], friction=rough, name=f"pair{i}_{j}")
    text = "".join(PLANE.format(*point, *normal) for point, normal in (((0, 0, 0), (0, 0, 1)), *walls))
    form = ("sphere", f"{RADIUS}") if balls else ("box", f"{EDGE / 2} {EDGE / 2} {EDGE / 2}")
    text += BODY.format(inertia, *form, 3 if pairs else 2) * len(states)
    option = (
        f"<option timestep='{STEP}' cone='elliptic'/><default><geom friction='{FRICTION} 0 0' condim='3'/></default>"
    )
    mjcf = f"<mujoco>{option}<worldbody>{text}</worldbody></mujoco>"
    return Scene(title, m, mjcf, [tuple(map(np.array, state)) for state in states], until, len(states) == 1)


def sliding(n: int) -> Scene:
    """Boxes on the floor, 1 m apart, pushed and turned."""
    flat = (1.0, 0.0, 0.0, 0.0)
    states = [((k % 8, k // 8, EDGE / 2), flat, (0.5 + 0.1 * k, 0.2, 0), (0, 0, 1)) for k in range(n)]
    return _scene(f"sliding boxes: {n}", states, 1.0)


def thrown(n: int) -> Scene:
    """Boxes, 1 m apart, thrown and tumbling."""
    rng, states = np.random.default_rng(3), []
    for k in range(n):
        axis = rng.normal(size=3)
        turn = [math.cos(0.35), *(math.sin(0.35) * axis / np.linalg.norm(axis))]
        states.append(((k % 8, k // 8, 0.45), turn, (0.6, 0.2, 0), rng.normal(size=3)))
    return _scene(f"thrown boxes: {n}", states, 2.0)


def stack(n: int) -> Scene:
    """Boxes that fall 2 cm onto each other, slightly shifted and turned."""
    turns = [(math.cos(0.05 * k), 0, 0, math.sin(0.05 * k)) for k in range(n)]
    states = [((0.01 * (-1) ** k, 0.005 * k, 0.15 + 0.32 * k), turns[k], (0, 0, 0), (0, 0, 0)) for k in range(n)]
    return _scene(f"stacked boxes: {n}", states, 1.0, pairs=[(k + 1, k) for k in range(n - 1)])


def balls(n: int) -> Scene:
    """Balls in a box with room for little more than themselves; all pairs may touch."""
    side, rng = math.ceil(n ** (1 / 3) - 1e-9), np.random.default_rng(5)
    half, states = side * 0.115 / 2 + 0.02, []
    for k, i, j in list(itertools.product(range(side), repeat=3))[:n]:
        place = np.array([(i - (side - 1) / 2) * 0.115, (j - (side - 1) / 2) * 0.115, 0.06 + 0.115 * k])
        states.append((place + rng.uniform(-0.004, 0.004, 3), (1, 0, 0, 0), rng.uniform(-0.3, 0.3, 3), (0, 0, 0)))
    walls = [
        ((s * half * (a == 0), s * half * (a == 1), 0), (-s * (a == 0), -s * (a == 1), 0))
        for a in (0, 1)
        for s in (-1, 1)
    ]
    return _scene(
        f"balls in a box: {n}", states, 1.0, walls=walls, pairs=list(itertools.combinations(range(n), 2)), balls=True
    )


def table(mode: Mode) -> Table:
    """CPU times of runs by time steps, with errors where the exact motion is known."""
    columns = [
        "scene",
        "build, s",
        "kane.MoreauJean, ms",
        "MuJoCo, ms",
        "kane / MuJoCo",
        "error of kane, m",
        "of MuJoCo, m",
    ]
    result = Table("Many bodies in contact: time steps of 2 ms", columns)
    small = [*map(sliding, BOXES[:2]), *map(thrown, BOXES[:2]), *map(balls, BALLS[:2])]
    large = [*map(sliding, BOXES[2:]), *map(thrown, BOXES[2:]), *map(balls, BALLS[2:]), stack(3)]
    for scene in small if mode.quick else [*small, *large]:
        result.rows.append(_row(scene, mode.batches))
    result.note(
        "CPU times of whole runs of 1 s (thrown boxes 2 s), medians; build is the CPU time to derive and compile the "
        "model, less where the cache has its code. Errors: largest error of a final position, against a run that "
        "locates events, for scenes with one body; later contacts of tumbling bodies amplify errors. MuJoCo with "
        "elliptic cones and its default soft contacts. kane records 10 states and all events."
    )
    return result


def _row(scene: Scene, batches: int) -> list[str]:
    began = time.process_time()
    dyn = kane.build(kane.formulate(scene.model))
    built, start = time.process_time() - began, scene.start
    every = round(scene.until / STEP / 10)

    def ours() -> Array:
        run = kane.simulate(dyn, until=scene.until, integrator=kane.MoreauJean(), dt=STEP, every=every, **start)
        return np.asarray(run.q[-1].reshape(-1, 7)[:, 4:])

    theirs = _mujoco(scene) if find_spec("mujoco") else None
    times = [[_seconds(run) for run in (ours, theirs) if run is not None] for _ in range(batches + 1)][1:]
    mine, *other = np.median(times, axis=0).tolist()
    cells = [scene.title, f"{built:.2g}", f"{1e3 * mine:.3g}"]
    cells += [f"{1e3 * other[0]:.3g}", f"{mine / other[0]:.2f}"] if other else ["-", "-"]
    if not scene.located:
        return [*cells, "-", "-"]
    exact = kane.simulate(dyn, until=scene.until, **start).q[-1].reshape(-1, 7)[:, 4:]
    return [*cells, *(f"{np.abs(run() - exact).max():.1e}" if run else "-" for run in (ours, theirs))]


def _mujoco(scene: Scene) -> Callable[[], Array]:
    import mujoco

    model = mujoco.MjModel.from_xml_string(scene.mjcf)
    data, steps = mujoco.MjData(model), round(scene.until / STEP)
    q = np.concatenate([[*place, *turn] for place, turn, _, _ in scene.states])
    u = np.concatenate([[*v, *w] for _, _, v, w in scene.states])

    def run() -> Array:
        mujoco.mj_resetData(model, data)
        data.qpos[:], data.qvel[:] = q, u
        mujoco.mj_step(model, data, nstep=steps)
        return data.qpos.reshape(-1, 7)[:, :3].copy()

    return run


def _seconds(run: Callable[[], Any]) -> float:
    began = time.process_time()
    run()
    return time.process_time() - began
