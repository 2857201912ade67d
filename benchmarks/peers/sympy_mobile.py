"""SymPy's KanesMethod on the mobile manipulator of Table I: cse, C, gcc, and a linear solve at run time.

The wheels' angles of turning are left out, as the paper does: a wheel's frame turns with its fork, its angular velocity
is larger by the rate of turning. That spares the peer what turns with the wheels.
"""

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.peers.toolchain import CACHE, built

Array = npt.NDArray[np.float64]
WHEELS = ((0.3, 0.0), (-0.3, 0.3), (-0.3, -0.3))
SPEEDS = ("u4", "u5", "u6", "roll0", "u1", "u2", "u3", "roll1", "roll2")  # the independent ones first
INPUTS = ("steer0", "drive0", "drive1", "drive2", "tau1", "tau2", "Fx", "Fy", "Fz", "Tx", "Ty", "Tz")
COORDINATES = ("x", "y", "theta", "phi", "q1", "q2")


class SympyMobile:
    """udot in the order of ``SPEEDS``, from COORDINATES, SPEEDS and INPUTS."""

    def __init__(self) -> None:
        self.source = source()
        path = CACHE / "sympy_mobile.c"
        CACHE.mkdir(exist_ok=True)
        path.write_text(self.source)
        flags = ["-O3", "-march=native", "-shared", "-fPIC", "-lm"]
        self._library = ctypes.CDLL(str(built("gcc", [path], flags, stem="sympy_mobile", packages=["sympy"])))

    def loop(self, calls: int, states: Array, inputs: Array) -> Array:
        """Calls over the states, (N, 6 + 9) and (N, 12), in turn; the results."""
        states, inputs = np.ascontiguousarray(states), np.ascontiguousarray(inputs)
        out = np.zeros((len(states), len(SPEEDS)))
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in (states, inputs, out)]
        self._library.loop(ctypes.c_long(calls), ctypes.c_long(len(states)), *pointers)
        return out


def source() -> str:
    """C of the equations after common subexpression elimination, and of a loop over states."""
    import sympy

    method, leaves = kanes_method()
    entries = [x.xreplace(leaves) for x in (*method.mass_matrix, *method.forcing)]
    steps, results = sympy.cse(entries)
    n = len(SPEEDS)
    lines = [f"double {name} = {sympy.ccode(x)};" for name, x in steps]
    lines += [f"M[{k // n}][{k % n}] = {sympy.ccode(x)};" for k, x in enumerate(results[: n * n])]
    lines += [f"out[{k}] = {sympy.ccode(x)};" for k, x in enumerate(results[n * n :])]
    return FRAME.replace("BODY", "\n  ".join(lines)).replace("SIZE", str(n))


FRAME = """#include <math.h>
#define N SIZE
static void solve(double M[N][N], double *b) {
  for (int k = 0; k < N; k++) {
    int p = k;
    for (int i = k + 1; i < N; i++) if (fabs(M[i][k]) > fabs(M[p][k])) p = i;
    if (p != k) {
      for (int j = k; j < N; j++) { double t = M[k][j]; M[k][j] = M[p][j]; M[p][j] = t; }
      double t = b[k]; b[k] = b[p]; b[p] = t;
    }
    double r = 1.0 / M[k][k];
    for (int i = k + 1; i < N; i++) {
      double f = M[i][k] * r;
      if (f == 0.0) continue;
      for (int j = k + 1; j < N; j++) M[i][j] -= f * M[k][j];
      b[i] -= f * b[k];
    }
  }
  for (int k = N - 1; k >= 0; k--) {
    for (int j = k + 1; j < N; j++) b[k] -= M[k][j] * b[j];
    b[k] /= M[k][k];
  }
}
static void forward(const double *s, const double *e, double *out) {
  double M[N][N];
  BODY
  solve(M, out);
}
void loop(long calls, long n, const double *s, const double *e, double *out) {
  long i = 0;
  for (long c = 0; c < calls; c++) {
    forward(s + 15 * i, e + 12 * i, out + N * i);
    i = i + 1 < n ? i + 1 : 0;
  }
}
"""


def kanes_method() -> tuple[Any, dict[Any, Any]]:
    """KanesMethod with its equations formed, and what its symbols are called in C."""
    import sympy
    from sympy.physics import mechanics

    q = mechanics.dynamicsymbols(" ".join(COORDINATES))
    u = dict(zip(SPEEDS, mechanics.dynamicsymbols(" ".join(SPEEDS)), strict=True))
    e = dict(zip(INPUTS, sympy.symbols(" ".join(INPUTS)), strict=True))
    x, y, theta, phi, q1, q2 = q
    N, O = mechanics.ReferenceFrame("N"), mechanics.Point("O")
    O.set_vel(N, 0)
    V = N.orientnew("V", "Axis", (theta, N.z))
    V.set_ang_vel(N, u["u3"] * N.z)
    Vo = O.locatenew("Vo", x * N.x + y * N.y)
    Vo.set_vel(N, u["u1"] * V.x + u["u2"] * V.y)
    bodies = [_body("platform", V, Vo, 40.0, (1.667, 1.667, 3.02)), _body("base", V, Vo, 5.0, (0.08, 0.08, 0.156))]
    loads: list[Any] = []
    rows: list[Any] = []
    for j, place in enumerate(WHEELS):
        body, couples = _wheel(j, place, (N, V, Vo), phi, (u, e))
        bodies.append(body)
        loads += couples
        velocity, roll = body.masscenter.vel(N), 0.15 * u[f"roll{j}"]
        if j == 0:
            rows += [velocity.dot(V.x) - roll * sympy.cos(phi), velocity.dot(V.y) - roll * sympy.sin(phi)]
        else:
            rows += [velocity.dot(V.x) - roll]
    rows.append(bodies[-1].masscenter.vel(N).dot(V.y))  # the other rear wheel's no skid is the same equation
    arm, efforts = _arm(N, V, Vo, ((q1, q2), u, e))
    rates = [
        x.diff() - Vo.vel(N).dot(N.x),
        y.diff() - Vo.vel(N).dot(N.y),
        *(a.diff() - u[name] for a, name in ((theta, "u3"), (phi, "u4"), (q1, "u5"), (q2, "u6"))),
    ]
    speeds = list(u.values())
    method = mechanics.KanesMethod(
        N, q_ind=list(q), u_ind=speeds[:4], u_dependent=speeds[4:], kd_eqs=rates, velocity_constraints=rows
    )
    method.kanes_equations([*bodies, *arm], [*loads, *efforts])
    state = {s: sympy.Symbol(f"s[{i}]") for i, s in enumerate([*q, *speeds])}
    return method, state | {s: sympy.Symbol(f"e[{i}]") for i, s in enumerate(e.values())}


def _body(name: str, frame: Any, centre: Any, mass: float, moments: Sequence[float], axes: Any = None) -> Any:
    from sympy.physics import mechanics

    return mechanics.RigidBody(name, centre, frame, mass, (mechanics.inertia(axes or frame, *moments), centre))


def _wheel(j: int, place: tuple[float, float], carriage: Any, phi: Any, motion: Any) -> Any:
    """The wheel, and the torques of its motors."""
    (N, V, Vo), (u, e) = carriage, motion
    fork, loads = V, []
    if j == 0:
        fork = V.orientnew("fork", "Axis", (phi, V.z))
        fork.set_ang_vel(V, u["u4"] * V.z)
        loads += [(fork, e["steer0"] * V.z), (V, -e["steer0"] * V.z)]
    frame = fork.orientnew(f"W{j}", "Axis", (0, fork.y))
    frame.set_ang_vel(fork, u[f"roll{j}"] * fork.y)
    centre = Vo.locatenew(f"W{j}o", place[0] * V.x + place[1] * V.y)
    centre.v2pt_theory(Vo, N, V)
    moment = 2.0 * 0.15**2 / 4.0
    body = _body(f"w{j}", frame, centre, 2.0, (moment, 2.0 * moment, moment), fork)
    torque = e[f"drive{j}"] * fork.y
    return body, [*loads, (frame, torque), (fork, -torque)]


def _arm(N: Any, V: Any, Vo: Any, motion: Any) -> tuple[list[Any], list[Any]]:
    """Links, and the loads on them."""
    (q1, q2), u, e = motion
    A = V.orientnew("A", "Axis", (q1, V.z))
    A.set_ang_vel(V, u["u5"] * V.z)
    B = A.orientnew("B", "Axis", (q2, A.z))
    B.set_ang_vel(A, u["u6"] * A.z)
    Ac = Vo.locatenew("Ac", 0.25 * A.x + 0.1505 * A.z)
    Bo = Ac.locatenew("Bo", 0.8 * A.x)
    Bc, tip = Bo.locatenew("Bc", 0.4 * B.x), Bo.locatenew("tip", 0.8 * B.x)
    for point, origin, frame in ((Ac, Vo, A), (Bo, Vo, A), (Bc, Bo, B), (tip, Bo, B)):
        point.v2pt_theory(origin, N, frame)
    links = [_body("link1", A, Ac, 10.0, (1.759, 2.035, 2.073)), _body("link2", B, Bc, 5.0, (0.0, 0.267, 0.267))]
    torque = e["Tx"] * B.x + e["Ty"] * B.y + e["Tz"] * B.z
    loads = [(A, e["tau1"] * V.z), (V, -e["tau1"] * V.z), (B, e["tau2"] * A.z), (A, -e["tau2"] * A.z), (B, torque)]
    return links, [*loads, (tip, e["Fx"] * B.x + e["Fy"] * B.y + e["Fz"] * B.z)]
