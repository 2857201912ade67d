"""Stoneking 2008: the five-body tree by the printed partial velocity matrices, and its torque-free motion."""

import numpy as np
import pytest

import kane
from kane.library.spacecraft_tree import SPACECRAFT_BODIES, SPACECRAFT_JOINTS

# Some thousand products of numbers of the size of the largest entry: 1e4 roundings of 1.1e-16.
ROUNDING = 1e-12
GRAVITY = np.array([0.3, -0.2, -1.7])  # so that F is not zero; uniform, as none is in the paper
NAMES = list(SPACECRAFT_BODIES)


@pytest.fixture(scope="module")
def dyn():
    return kane.build(kane.formulate(kane.library.spacecraft_tree(GRAVITY.tolist())))


def tilde(x):
    return np.array([[0.0, -x[2], x[1]], [x[2], 0.0, -x[0]], [-x[1], x[0], 0.0]])


def about(k, angle):
    c, s = np.cos(angle), np.sin(angle)
    i, j = (k + 1) % 3, (k + 2) % 3
    R = np.eye(3)
    R[i, i], R[i, j], R[j, i], R[j, j] = c, -s, s, c
    return R


def of_quaternion(q):
    return (q[0] ** 2 - q[1:] @ q[1:]) * np.eye(3) + 2.0 * np.outer(q[1:], q[1:]) + 2.0 * q[0] * tilde(q[1:])


class Tree:
    """The example's quantities in the paper's notation, vectors in N."""

    def __init__(self, q, u):
        root, g1, g2, g3, g4 = q[:4], q[4:7], q[7:11], q[11], q[12:14]
        self.w1, s1, s2, s3, s4 = u[:3], u[3:6], u[6:9], u[9:10], u[10:12]
        (sin2, sin3), (c2, c3) = np.sin(g1[1:]), np.cos(g1[1:])
        d2, d3 = s1[1], s1[2]
        # Joint partials Gamma and their rates; that of the 2-1-3 gimbal is printed.
        self.gamma = [
            np.array([[c2 * sin3, c3, 0.0], [c2 * c3, -sin3, 0.0], [-sin2, 0.0, 1.0]]),
            np.eye(3),
            np.array([[0.0], [1.0], [0.0]]),
            np.array([[np.cos(g4[1]), 0.0], [0.0, 1.0], [np.sin(g4[1]), 0.0]]),
        ]
        self.gamma_dot = [
            np.array(
                [
                    [-sin2 * sin3 * d2 + c2 * c3 * d3, -sin3 * d3, 0.0],
                    [-sin2 * c3 * d2 - c2 * sin3 * d3, -c3 * d3, 0.0],
                    [-c2 * d2, 0.0, 0.0],
                ]
            ),
            np.zeros((3, 3)),
            np.zeros((3, 1)),
            np.array([[-np.sin(g4[1]), 0.0], [0.0, 0.0], [np.cos(g4[1]), 0.0]]) * s4[1],
        ]
        self.sigma = [s1, s2, s3, s4]
        B1 = of_quaternion(root)
        B2 = B1 @ about(1, g1[0]) @ about(0, g1[1]) @ about(2, g1[2])
        B3 = B1 @ of_quaternion(g2)
        B4 = B3 @ about(1, g3)
        B5 = B3 @ about(0, g4[0]) @ about(1, g4[1])
        self.C = [B1, B2, B3, B4, B5]
        self.inner, self.outer = [0, 0, 2, 2], [1, 2, 3, 4]
        self.r_in = [self.C[i] @ SPACECRAFT_JOINTS[f"G{k + 1}"][2] for k, i in enumerate(self.inner)]
        self.r_out = [self.C[o] @ SPACECRAFT_JOINTS[f"G{k + 1}"][3] for k, o in enumerate(self.outer)]

    def omega_and_v(self):
        """Omega, 15 x 15 in body axes, and V in N, by the printed tables."""
        r11, r12, r33, r34 = self.r_in
        r21, r32, r43, r54 = self.r_out
        b2, b3 = r21 - r11, r32 - r12
        b4, b5 = r43 - r33 + r32 - r12, r54 - r34 + r32 - r12
        rho42, rho52 = r43 - r33 + r32, r54 - r34 + r32
        B, U = self.C, np.eye(3)
        G = [B[o] @ g for o, g in zip(self.outer, self.gamma, strict=True)]
        zero = [np.zeros((3, 3)), *(np.zeros(g.shape) for g in self.gamma), np.zeros((3, 3))]

        def row(**blocks):
            """Columns: w1, s1, s2, s3, s4, v1."""
            names = ("w1", "s1", "s2", "s3", "s4", "v1")
            return np.hstack([blocks.get(name, zero[k]) for k, name in enumerate(names)])

        omega = [
            row(w1=B[0]),
            row(w1=B[0], s1=G[0]),
            row(w1=B[0], s2=G[1]),
            row(w1=B[0], s2=G[1], s3=G[2]),
            row(w1=B[0], s2=G[1], s4=G[3]),
        ]
        V = [
            row(v1=U),
            row(w1=tilde(b2) @ B[0], s1=tilde(r21) @ G[0], v1=U),
            row(w1=tilde(b3) @ B[0], s2=tilde(r32) @ G[1], v1=U),
            row(w1=tilde(b4) @ B[0], s2=tilde(rho42) @ G[1], s3=tilde(r43) @ G[2], v1=U),
            row(w1=tilde(b5) @ B[0], s2=tilde(rho52) @ G[1], s4=tilde(r54) @ G[3], v1=U),
        ]
        return np.vstack([R.T @ rows for R, rows in zip(B, omega, strict=True)]), np.vstack(V)

    def remainders(self):
        """alpha_r in N and a_r in N, joint by joint as printed."""
        w, alpha, a = [self.C[0] @ self.w1], [np.zeros(3)], [np.zeros(3)]
        for k in range(4):
            i, B = self.inner[k], self.C[self.outer[k]]
            turn = B @ (self.gamma[k] @ self.sigma[k])
            w_o = w[i] + turn
            alpha_o = alpha[i] + B @ (self.gamma_dot[k] @ self.sigma[k]) + np.cross(w_o, turn)
            near, far = self.r_in[k], self.r_out[k]
            a_o = a[i] + np.cross(w[i], np.cross(w[i], near)) + np.cross(alpha[i], near)
            a_o = a_o - np.cross(w_o, np.cross(w_o, far)) - np.cross(alpha_o, far)
            w, alpha, a = [*w, w_o], [*alpha, alpha_o], [*a, a_o]
        return w, alpha, a


def inertia(name):
    xx, yy, zz, xy, xz, yz = SPACECRAFT_BODIES[name][1]
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def random_state(seed):
    random = np.random.default_rng(seed)
    q, u = random.normal(size=17), random.normal(size=15)
    for start in (0, 7):
        q[start : start + 4] /= np.linalg.norm(q[start : start + 4])
    return q, u


def block_diagonal(blocks):
    out = np.zeros((15, 15))
    for k, block in enumerate(blocks):
        out[3 * k : 3 * k + 3, 3 * k : 3 * k + 3] = block
    return out


@pytest.mark.parametrize("seed", range(4))
def test_the_partial_velocities_are_the_printed_omega_and_v(dyn, seed):
    q, u = random_state(seed)
    tree = Tree(q, u)
    omega, V = tree.omega_and_v()
    for k, name in enumerate(NAMES):
        jacobian = dyn.jacobian(name, q)
        np.testing.assert_allclose(tree.C[k].T @ jacobian.angular, omega[3 * k : 3 * k + 3], rtol=0, atol=ROUNDING)
        np.testing.assert_allclose(jacobian.linear, V[3 * k : 3 * k + 3], rtol=0, atol=ROUNDING)


@pytest.mark.parametrize("seed", range(4))
def test_coef_and_rhs_are_the_printed_ones(dyn, seed):
    """COEF = Omega' I Omega + V' m V and RHS = Omega' (-I alpha_r - w x H) + V' (F - m a_r), F = m g, T = 0."""
    q, u = random_state(seed)
    tree = Tree(q, u)
    omega, V = tree.omega_and_v()
    w, alpha, a = tree.remainders()
    moments, masses = [inertia(name) for name in NAMES], [SPACECRAFT_BODIES[name][0] for name in NAMES]
    COEF = omega.T @ block_diagonal(moments) @ omega + V.T @ block_diagonal([m * np.eye(3) for m in masses]) @ V
    couples, forces = [], []
    for R, I, m, w_k, alpha_k, a_k in zip(tree.C, moments, masses, w, alpha, a, strict=True):
        w_B, alpha_B = R.T @ w_k, R.T @ alpha_k
        couples.append(-I @ alpha_B - np.cross(w_B, I @ w_B))
        forces.append(m * GRAVITY - m * a_k)
    RHS = omega.T @ np.concatenate(couples) + V.T @ np.concatenate(forces)
    np.testing.assert_allclose(dyn.mass_matrix(q), COEF, rtol=0, atol=ROUNDING * np.abs(COEF).max())
    np.testing.assert_allclose(-dyn.bias(q, u), RHS, rtol=0, atol=ROUNDING * np.abs(RHS).max())
    udot = np.linalg.solve(COEF, RHS)
    tolerance = ROUNDING * np.linalg.cond(COEF) * np.abs(udot).max()
    np.testing.assert_allclose(dyn.forward(q, u), udot, rtol=0, atol=tolerance)


def test_speeds_stand_in_the_papers_order(dyn):
    names = [u.name for u in dyn.equations.u]
    assert [name.split("_")[0] for name in names] == ["root"] * 3 + ["G1"] * 3 + ["G2"] * 3 + ["G3"] + ["G4"] * 2 + [
        *"xyz"
    ]


def test_energy_and_momentum_are_kept_for_a_hundred_seconds():
    """The spacecraft tumbles freely, joints loose. RK4 with 10 ms on motions of below 1 rad/s: (h w)^4 w/120 each
    second, 1e-8 x 1e-2 x 100 at most, and what it does to energy and momentum is smaller still; 1e-9 is asked for."""
    dyn = kane.build(kane.formulate(kane.library.spacecraft_tree()))
    u = dict(root_wx=0.05, root_wy=-0.03, root_wz=0.08, G1_1_dot=0.02, G1_2_dot=-0.01, G1_3_dot=0.03, G2_wx=-0.04)
    u |= dict(G2_wy=0.03, G2_wz=0.02, G3_dot=0.05, G4_1_dot=-0.02, G4_2_dot=0.03, x_dot=0.1, y_dot=-0.05, z_dot=0.02)
    run = kane.simulate(dyn, until=100.0, dt=0.01, every=100, q={"G1_2": 0.4, "G4_2": 0.3}, u=u)
    P = dyn.momentum(run.q, run.u)
    assert np.abs(run.energy / run.energy[0] - 1.0).max() < 1e-9
    assert np.abs(P.linear - P.linear[0]).max() < 1e-9 * np.linalg.norm(P.linear[0])
    assert np.abs(P.angular - P.angular[0]).max() < 1e-9 * np.linalg.norm(P.angular[0])
    # It did tumble: joints that stand still keep everything too.
    assert np.ptp(run["G3"]) > 1.0
    assert np.ptp(run["G1_1"]) > 1.0
