"""An environment of ``gymnasium.vector`` that steps all its copies together, by ``kane.Steppers``.

The class ``SteppersEnv`` is the adapter; its model is a cart with a pole. Takes 1,000 random steps of 256 copies.
"""

import time
from typing import Any

import numpy as np

import kane

try:
    import gymnasium
    from gymnasium.vector import AutoresetMode, VectorEnv
except ImportError:
    gymnasium, VectorEnv = None, object


def cart_and_pole() -> kane.Dynamics:
    """Return compiled equations of a cart between two stops and of a pole on the cart."""
    m = kane.Model("cart and pole")
    cart = m.body("cart", mass=1.0)
    pole = m.body("pole", mass=0.2, inertia=(0.006, 0.006, 1e-4), com=(0, 0, 0.3))
    rail = m.connect(m.ground, cart, kane.Prismatic("x", axis="x"))
    m.connect(cart, pole, kane.Revolute("angle", axis="y"))
    m.load(kane.Motor(rail, m.input("force")))
    m.stop(rail, lower=-1.0, upper=1.0)
    return kane.build(kane.formulate(m))


class SteppersEnv(VectorEnv):
    """Balance the pole; copies whose pole falls, or whose time is over, begin again at their next step."""

    def __init__(self, num_envs: int, *, dt: float = 0.02, force: float = 10.0, longest: float = 10.0) -> None:
        self.num_envs, self.dt, self.longest = num_envs, dt, longest
        self.runs = kane.Steppers(cart_and_pole(), num_envs, integrator=kane.MoreauJean())
        box, many = gymnasium.spaces.Box, gymnasium.vector.utils.batch_space
        self.single_observation_space = box(-np.inf, np.inf, (4,), np.float64)
        self.single_action_space = box(-force, force, (1,), np.float64)
        self.observation_space = many(self.single_observation_space, num_envs)
        self.action_space = many(self.single_action_space, num_envs)
        self.metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP}
        self._over = np.zeros(num_envs, bool)

    def _begin(self, rows: np.ndarray) -> None:
        self.runs.reset(rows, q={"angle": self.np_random.uniform(-0.05, 0.05, np.count_nonzero(rows))})

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self._over[:] = False
        self._begin(np.ones(self.num_envs, bool))
        return np.hstack([self.runs.q, self.runs.u]), {}

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict]:
        """Step all copies; a copy whose episode has ended begins the next one, with reward 0."""
        begun, changed = (
            self._over,
            self.runs.step(self.dt, np.clip(actions, self.action_space.low, self.action_space.high)),
        )
        if begun.any():
            self._begin(begun)
        fallen, late = np.abs(self.runs.q[:, 1]) > 0.5, self.runs.time > self.longest - self.dt / 2
        self._over = fallen | late
        state, reward = np.hstack([self.runs.q, self.runs.u]), np.where(begun, 0.0, 1.0)
        return state, reward, fallen, late & ~fallen, {"impact": changed & ~begun}


if __name__ == "__main__":
    if gymnasium is None:
        print("this example needs gymnasium, which kane does not install: pip install gymnasium")
    else:
        envs = SteppersEnv(256)
        envs.reset(seed=0)
        began, ended = time.perf_counter(), 0
        for _ in range(1000):
            found = envs.step(envs.action_space.sample())
            ended += int((found[2] | found[3]).sum())
        print(f"gymnasium: {ended} episodes ended; {256_000 / (time.perf_counter() - began):,.0f} steps a second")
