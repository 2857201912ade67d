"""Mechanisms that the test suites, galleries and books of SymPy's users treat, described anew in SymPy.

Each function returns a ``SymPyModel``. Its docstring names the example that it stands for; nothing is copied.
"""

import sympy as sm
import sympy.physics.mechanics as me
from sympy_models import SymPyModel

t = me.dynamicsymbols._t


def space():
    """An inertial frame and a point fixed in it."""
    N, O = me.ReferenceFrame("N"), me.Point("O")
    O.set_vel(N, 0)
    return N, O


def kanes(N, q, u, bodies, loads, **more):
    """The equations of Kane, formed, with the rates of the coordinates as speeds unless kd_eqs are given."""
    kd = more.pop("kd_eqs", [a.diff() - b for a, b in zip(q, u, strict=True)])
    method = me.KanesMethod(N, q_ind=q, u_ind=u, kd_eqs=kd, **more)
    method.kanes_equations(bodies, loads)
    return method


def turned(parent, name, angle, axis, rate):
    """A frame turned about an axis of its parent, with the angular velocity in speeds."""
    frame = parent.orientnew(name, "Axis", (angle, axis))
    frame.set_ang_vel(parent, rate * axis)
    return frame


def oscillator():
    """SymPy: one degree of freedom, a mass on a spring and a damper."""
    q, u = me.dynamicsymbols("q u")
    m, c, k = sm.symbols("m c k")
    N, _ = space()
    O = me.Point("O")
    O.set_vel(N, 0)
    P = O.locatenew("P", q * N.x)
    P.set_vel(N, u * N.x)
    loads = [(P, (-k * q - c * q.diff()) * N.x)]
    return SymPyModel(kanes(N, [q], [u], [me.Particle("mass", P, m)], loads), {m: 2.0, c: 0.3, k: 12.0})


def two_masses():
    """SymPy: two masses in a row; the second coordinate is relative to the first mass, its speed is absolute."""
    q, u = me.dynamicsymbols("q1:3"), me.dynamicsymbols("u1:3")
    m, c, k, F = *sm.symbols("m c k"), me.dynamicsymbols("F")
    N, O = space()
    A = O.locatenew("A", q[0] * N.x)
    B = A.locatenew("B", q[1] * N.x)
    A.set_vel(N, u[0] * N.x)
    B.set_vel(N, u[1] * N.x)
    kd = [q[0].diff() - u[0], q[1].diff() - u[1] + u[0]]
    loads = [(A, (k * q[1] - k * q[0] + c * (u[1] - u[0])) * N.x), (B, (F - k * q[1] - c * (u[1] - u[0])) * N.x)]
    bodies = [me.Particle("a", A, m), me.Particle("b", B, 3 * m)]
    return SymPyModel(kanes(N, q, u, bodies, loads, kd_eqs=kd), {m: 1.1, c: 0.4, k: 9.0}, [F])


def pendulum_of_offset_inertia():
    """SymPy: inertia about a point that is not the mass centre (parallel axes)."""
    q, u = me.dynamicsymbols("q u")
    m, l, J, g = sm.symbols("m l J g")
    N, O = space()
    A = turned(N, "A", q, N.z, u)
    C = O.locatenew("C", l * A.x)
    C.v2pt_theory(O, N, A)
    rod = me.RigidBody("rod", C, A, m, (me.inertia(A, 0, J, J), O))
    return SymPyModel(kanes(N, [q], [u], [rod], [(C, m * g * N.x)]), {m: 1.3, l: 0.4, J: 0.5, g: 9.81})


def pendulum_of_implicit_speeds():
    """SymPy: two links whose speeds mix the rates of two angles, with coefficients that depend on the position."""
    q, u = me.dynamicsymbols("q1:3"), me.dynamicsymbols("u1:3")
    m, l, g = sm.symbols("m l g")
    N, O = space()
    kd = [
        q[0].diff() + sm.cos(q[1]) * q[1].diff() / 3 - u[0],
        2 * q[1].diff() - q[0].diff() * sm.sin(q[0]) / 4 - u[1],
    ]
    rates = sm.solve(kd, [x.diff() for x in q], dict=True)[0]
    w = [rates[x.diff()] for x in q]
    A = turned(N, "A", q[0], N.z, w[0])
    B = turned(A, "B", q[1], A.z, w[1])
    P = O.locatenew("P", l * A.x)
    Q = P.locatenew("Q", l * B.x)
    P.v2pt_theory(O, N, A)
    Q.v2pt_theory(P, N, B)
    bodies = [me.Particle("p", P, m), me.Particle("q", Q, 2 * m)]
    loads = [(x.point, x.mass * g * N.x) for x in bodies]
    return SymPyModel(kanes(N, q, u, bodies, loads, kd_eqs=kd), {m: 0.9, l: 0.6, g: 9.81})


def spherical_pendulum_of_angles():
    """SymPy's guide: a top on three body-fixed angles, with measure numbers of its angular velocity as speeds."""
    q, u = me.dynamicsymbols("q1:4"), me.dynamicsymbols("u1:4")
    m, l, I, J, g = sm.symbols("m l I J g")
    N, O = space()
    B = N.orientnew("B", "Body", q, "ZXZ")
    w = B.ang_vel_in(N).express(B)
    kd = [w.dot(e) - x for e, x in zip(B, u, strict=True)]
    B.set_ang_vel(N, u[0] * B.x + u[1] * B.y + u[2] * B.z)
    C = O.locatenew("C", l * B.z)
    C.v2pt_theory(O, N, B)
    top = me.RigidBody("top", C, B, m, (me.inertia(B, I, I, J), C))
    values = {m: 0.8, l: 0.2, I: 0.02, J: 0.004, g: 9.81}
    return SymPyModel(kanes(N, q, u, [top], [(C, -m * g * N.z)], kd_eqs=kd), values)


def plate_on_a_rod():
    """PyDy's gallery: the chaotic pendulum, a plate that turns about the rod on which it hangs."""
    q, u = me.dynamicsymbols("theta phi"), me.dynamicsymbols("omega alpha")
    mA, mB, lA, lB, g, a, b, c, d = sm.symbols("mA mB lA lB g a b c d")
    N, O = space()
    A = turned(N, "A", q[0], N.y, u[0])
    B = turned(A, "B", q[1], A.z, u[1])
    Ao, Bo = O.locatenew("Ao", lA * A.z), O.locatenew("Bo", lB * A.z)
    Ao.v2pt_theory(O, N, A)
    Bo.v2pt_theory(O, N, A)
    rod = me.RigidBody("rod", Ao, A, mA, (me.inertia(A, a, a, 0), Ao))
    plate = me.RigidBody("plate", Bo, B, mB, (me.inertia(B, b, c, d), Bo))
    loads = [(Ao, mA * g * N.z), (Bo, mB * g * N.z)]
    values = {mA: 0.01, mB: 0.1, lA: 0.075, lB: 0.2, g: 9.81, a: 5e-5, b: 5e-4, c: 4e-4, d: 2e-4}
    return SymPyModel(kanes(N, q, u, [rod, plate], loads), values)


def conical_links():
    """PyDy's gallery: links in space, each on a universal joint; two of the three, because SymPy takes minutes."""
    q, u = me.dynamicsymbols("q1:5"), me.dynamicsymbols("u1:5")
    m, l, I, g, k = sm.symbols("m l I g k")
    N, P = space()
    last, bodies, loads = N, [], []
    for i in range(2):
        first = turned(last, f"A{i}", q[2 * i], last.x, u[2 * i])
        B = turned(first, f"B{i}", q[2 * i + 1], first.z, u[2 * i + 1])
        C = P.locatenew(f"C{i}", l / 2 * B.y)
        C.v2pt_theory(P, N, B)
        end = P.locatenew(f"P{i}", l * B.y)
        end.v2pt_theory(P, N, B)
        bodies.append(me.RigidBody(f"link{i}", C, B, m, (me.inertia(B, I, I / 9, I), C)))
        loads += [(C, -m * g * N.y), (B, -k * q[2 * i + 1] * first.z)]
        P, last = end, B
    return SymPyModel(kanes(N, q, u, bodies, loads), {m: 1.5, l: 0.8, I: 0.1, g: 9.81, k: 3.0})


def sliding_bead():
    """learn-multibody-dynamics, equations of motion: two rods on torsion springs, and a bead that slides on one."""
    q, u = me.dynamicsymbols("q1:4"), me.dynamicsymbols("u1:4")
    m, l, g, kl, kt = sm.symbols("m l g kl kt")
    N, O = space()
    A = turned(N, "A", q[0], N.z, u[0])
    B = turned(A, "B", q[1], A.x, u[1])
    Ao, Bo = O.locatenew("Ao", l / 2 * A.x), O.locatenew("Bo", l * A.x)
    Ao.v2pt_theory(O, N, A)
    Bo.v2pt_theory(O, N, A)
    Q = Bo.locatenew("Q", q[2] * B.y)
    Q.set_vel(B, u[2] * B.y)
    Q.v1pt_theory(Bo, N, B)
    J = m * l**2 / 12
    bodies = [
        me.RigidBody("a", Ao, A, m, (me.inertia(A, 0, J, J), Ao)),
        me.RigidBody("b", Bo, B, m, (me.inertia(B, J, 0, J), Bo)),
        me.Particle("bead", Q, m / 4),
    ]
    loads = [(x.masscenter if hasattr(x, "masscenter") else x.point, x.mass * g * N.x) for x in bodies]
    loads += [(Q, -kl * q[2] * B.y), (Bo, kl * q[2] * B.y), (A, -kt * q[0] * N.z), (A, kt * q[1] * A.x)]
    loads += [(B, -kt * q[1] * A.x)]
    return SymPyModel(kanes(N, q, u, bodies, loads), {m: 1.0, l: 0.6, g: 9.81, kl: 20.0, kt: 0.5})


def snakeboard():
    """learn-multibody-dynamics, nonholonomic constraints: two steered pairs of wheels on a board."""
    q, u = me.dynamicsymbols("q1:6"), me.dynamicsymbols("u1:6")
    m, I, J, l, T = *sm.symbols("m I J l"), me.dynamicsymbols("T")
    N, O = space()
    A = turned(N, "A", q[2], N.z, u[2])
    B, C = turned(A, "B", q[3], A.z, u[3]), turned(A, "C", q[4], A.z, u[4])
    Ao = O.locatenew("Ao", q[0] * N.x + q[1] * N.y)
    Ao.set_vel(N, u[0] * N.x + u[1] * N.y)
    Bo, Co = Ao.locatenew("Bo", l / 2 * A.x), Ao.locatenew("Co", -l / 2 * A.x)
    Bo.v2pt_theory(Ao, N, A)
    Co.v2pt_theory(Ao, N, A)
    bodies = [
        me.RigidBody("board", Ao, A, m, (me.inertia(A, 0, 0, I), Ao)),
        me.RigidBody("front", Bo, B, m / 5, (me.inertia(B, 0, 0, J), Bo)),
        me.RigidBody("rear", Co, C, m / 5, (me.inertia(C, 0, 0, J), Co)),
    ]
    rolling = [Bo.vel(N).dot(B.y), Co.vel(N).dot(C.y)]
    method = me.KanesMethod(
        N,
        q_ind=q,
        u_ind=[u[0], u[3], u[4]],
        u_dependent=[u[1], u[2]],
        kd_eqs=[a.diff() - b for a, b in zip(q, u, strict=True)],
        velocity_constraints=rolling,
    )
    method.kanes_equations(bodies, [(B, T * N.z), (A, -T * N.z)])
    return SymPyModel(method, {m: 3.0, I: 0.4, J: 0.02, l: 0.7}, [T])


def pendulum_of_dependent_coordinates():
    """SymPy: the pendulum in Cartesian coordinates, whose length is a constraint (nonminimal coordinates)."""
    q, u = me.dynamicsymbols("x y"), me.dynamicsymbols("vx vy")
    m, l, g = sm.symbols("m l g")
    N, O = space()
    P = O.locatenew("P", q[0] * N.x + q[1] * N.y)
    P.set_vel(N, u[0] * N.x + u[1] * N.y)
    method = me.KanesMethod(
        N,
        q_ind=q[1:],
        u_ind=u[1:],
        q_dependent=q[:1],
        u_dependent=u[:1],
        kd_eqs=[a.diff() - b for a, b in zip(q, u, strict=True)],
        configuration_constraints=[q[0] ** 2 + q[1] ** 2 - l**2],
        velocity_constraints=[q[0] * u[0] + q[1] * u[1]],
    )
    method.kanes_equations([me.Particle("bob", P, m)], [(P, m * g * N.x)])
    return SymPyModel(method, {m: 1.4, l: 0.9, g: 9.81})


def bead_on_a_turning_hoop():
    """A textbook's hoop that a motor turns at a constant rate: the orientation depends on time."""
    q, u = me.dynamicsymbols("q u")
    m, r, g, W = sm.symbols("m r g W")
    N, O = space()
    H = N.orientnew("H", "Axis", (W * t, N.z))
    A = turned(H, "A", q, H.y, u)
    P = O.locatenew("P", r * A.z)
    P.v2pt_theory(O, N, A)
    bead = me.Particle("bead", P, m)
    return SymPyModel(kanes(N, [q], [u], [bead], [(P, -m * g * N.z)]), {m: 0.3, r: 0.5, g: 9.81, W: 3.0})


def jumping_man():
    """learn-multibody-dynamics, energy: calf, thigh and trunk over a foot on a stiff floor; a torque at the knee."""
    q, u = me.dynamicsymbols("q1:4"), me.dynamicsymbols("u1:4")
    m, l, g, k, c, T = *sm.symbols("m l g k c"), me.dynamicsymbols("T")
    N, O = space()
    Pf = O.locatenew("Pf", q[2] * N.y)
    Pf.set_vel(N, u[2] * N.y)
    A = turned(N, "A", q[0], N.z, u[0])
    B = turned(A, "B", q[1], -A.z, u[1])
    Ao, knee = Pf.locatenew("Ao", l / 2 * A.y), Pf.locatenew("knee", l * A.y)
    Bo, hip = knee.locatenew("Bo", l / 2 * B.y), knee.locatenew("hip", l * B.y)
    for point, before, frame in ((Ao, Pf, A), (knee, Pf, A), (Bo, knee, B), (hip, knee, B)):
        point.v2pt_theory(before, N, frame)
    J = m * l**2 / 12
    bodies = [
        me.Particle("foot", Pf, m / 6),
        me.RigidBody("calf", Ao, A, m, (me.inertia(A, J, 0, J), Ao)),
        me.RigidBody("thigh", Bo, B, m, (me.inertia(B, J, 0, J), Bo)),
        me.Particle("trunk", hip, 5 * m),
    ]
    loads = [(x.masscenter if hasattr(x, "masscenter") else x.point, -x.mass * g * N.y) for x in bodies]
    depth = (sm.Abs(q[2]) - q[2]) / 2
    loads += [(Pf, (k * depth**3 + c * depth**3 * -u[2]) * N.y), (A, T * N.z), (B, -T * N.z)]
    return SymPyModel(kanes(N, q, u, bodies, loads), {m: 9.0, l: 0.45, g: 9.81, k: 5e7, c: 5e7}, [T])


def joints_of_a_system():
    """SymPy: a System with planar, cylindrical, weld and pin joints, a spring, a damper and a motor as actuators."""
    m, l, k, c, g, T = *sm.symbols("m l k c g"), me.dynamicsymbols("T")
    q, u = me.dynamicsymbols("q0:6"), me.dynamicsymbols("u0:6")
    ground, plate, rod, stick, arm = (me.RigidBody(x) for x in ("ground", "plate", "rod", "stick", "arm"))
    for body, scale in ((plate, 3), (rod, 1), (stick, 2), (arm, 1)):
        body.mass = scale * m
        body.central_inertia = me.inertia(body.frame, m, scale * m, 2 * m)
    system = me.System.from_newtonian(ground)
    planar = me.PlanarJoint("plane", ground, plate, q[0], q[1:3], u[0], u[1:3])
    tube = me.CylindricalJoint("tube", plate, rod, q[3], q[4], u[3], u[4], parent_point=l * plate.x)
    fixed = me.WeldJoint("weld", rod, stick, child_point=l * stick.y)
    pin = me.PinJoint("pin", stick, arm, q[5], u[5], parent_point=l * stick.z, joint_axis=stick.x)
    system.add_joints(planar, tube, fixed, pin)
    path = me.LinearPathway(ground.masscenter, plate.masscenter)
    spring, damper = me.LinearSpring(k, path, equilibrium_length=l), me.LinearDamper(c, path)
    system.add_actuators(spring, damper, me.TorqueActuator(T, stick.x, arm, stick))
    system.apply_uniform_gravity(-g * ground.y)
    return SymPyModel(system, {m: 1.2, l: 0.5, k: 15.0, c: 0.7, g: 9.81}, [T])


def duffing():
    """SymPy: actuators on a sliding mass: a hardening spring, a damper, and kinetic friction without its jump."""
    q, u = me.dynamicsymbols("q u")
    m, a, b, c, f = sm.symbols("m a b c f")
    wall, block = me.RigidBody("wall"), me.RigidBody("block", mass=m)
    block.central_inertia = me.inertia(block.frame, m, m, m)
    system = me.System.from_newtonian(wall)
    system.add_joints(me.PrismaticJoint("slide", wall, block, q, u, joint_axis=wall.x))
    path = me.LinearPathway(wall.masscenter, block.masscenter)
    forces = (me.DuffingSpring(a, b, path), me.LinearDamper(c, path), me.ForceActuator(-f * sm.tanh(u), path))
    system.add_actuators(*forces)
    return SymPyModel(system, {m: 1.7, a: 8.0, b: 3.0, c: 0.5, f: 0.6})


def three_bars_of_two_loops():
    """SymPy: a rod on two sliders, closed by a configuration constraint, with dependent coordinates and speeds."""
    q, u = me.dynamicsymbols("a x y"), me.dynamicsymbols("w vx vy")
    m, l, g = sm.symbols("m l g")
    N, O = space()
    A = turned(N, "A", q[0], N.z, u[0])
    S, Q = O.locatenew("S", q[1] * N.x), O.locatenew("Q", q[2] * N.y)
    S.set_vel(N, u[1] * N.x)
    Q.set_vel(N, u[2] * N.y)
    C = S.locatenew("C", l / 2 * A.x)
    C.v2pt_theory(S, N, A)
    end = S.pos_from(O) + l * A.x - Q.pos_from(O)
    closing = [end.dot(N.x), end.dot(N.y)]
    rates = [x.diff(t).subs({a.diff(): b for a, b in zip(q, u, strict=True)}) for x in closing]
    bodies = [
        me.RigidBody("rod", C, A, m, (me.inertia(A, 0, 0, m * l**2 / 12), C)),
        me.Particle("s", S, m / 2),
        me.Particle("q", Q, m / 3),
    ]
    method = me.KanesMethod(
        N,
        q_ind=q[:1],
        u_ind=u[:1],
        q_dependent=q[1:],
        u_dependent=u[1:],
        kd_eqs=[a.diff() - b for a, b in zip(q, u, strict=True)],
        configuration_constraints=closing,
        velocity_constraints=rates,
    )
    method.kanes_equations(bodies, [(C, -m * g * N.y), (Q, -m * g / 3 * N.y)])
    return SymPyModel(method, {m: 1.1, l: 0.8, g: 9.81})


GALLERY = {
    f.__name__.replace("_", " "): f
    for f in (
        oscillator,
        two_masses,
        pendulum_of_offset_inertia,
        pendulum_of_implicit_speeds,
        spherical_pendulum_of_angles,
        plate_on_a_rod,
        conical_links,
        sliding_bead,
        snakeboard,
        pendulum_of_dependent_coordinates,
        bead_on_a_turning_hoop,
        jumping_man,
        joints_of_a_system,
        duffing,
        three_bars_of_two_loops,
    )
}
