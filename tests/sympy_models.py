"""Mechanisms described in SymPy's mechanics package, written anew, with default values of all symbols."""

from dataclasses import dataclass, field
from typing import Any

import sympy as sm
import sympy.physics.mechanics as me

from benchmarks.peers import sympy_bicycle


@dataclass
class SymPyModel:
    """A SymPy method whose equations are formed, with the values of its parameters and its inputs."""

    method: Any
    values: dict[Any, float]
    inputs: list[Any] = field(default_factory=list)


def cart_pendulum():
    """A point mass on a rod that hangs from a cart, which a force pushes."""
    q, u, F = me.dynamicsymbols("q1:3"), me.dynamicsymbols("u1:3"), me.dynamicsymbols("F")
    m, M, l, g = sm.symbols("m M l g")
    N = me.ReferenceFrame("N")
    B = N.orientnew("B", "Axis", (q[1], N.z))
    B.set_ang_vel(N, u[1] * N.z)
    O = me.Point("O")
    O.set_vel(N, 0)
    C = O.locatenew("C", q[0] * N.x)
    C.set_vel(N, u[0] * N.x)
    P = C.locatenew("P", -l * B.y)
    P.v2pt_theory(C, N, B)
    method = me.KanesMethod(N, q_ind=q, u_ind=u, kd_eqs=[x.diff() - y for x, y in zip(q, u, strict=True)])
    bodies = [me.Particle("cart", C, M), me.Particle("bob", P, m)]
    method.kanes_equations(bodies, [(C, F * N.x - M * g * N.y), (P, -m * g * N.y)])
    return SymPyModel(method, {m: 1.2, M: 3.0, l: 0.7, g: 9.81}, [F])


def chain(n):
    """n point masses on massless rods, whose speeds are the rates of the angles; a torque turns the first rod."""
    q, u, T = me.dynamicsymbols(f"q1:{n + 1}"), me.dynamicsymbols(f"u1:{n + 1}"), me.dynamicsymbols("T")
    m, l, g = sm.symbols(f"m1:{n + 1}"), sm.symbols(f"l1:{n + 1}"), sm.Symbol("g")
    N = me.ReferenceFrame("N")
    P = me.Point("O")
    P.set_vel(N, 0)
    bodies, loads, first = [], [], None
    for i in range(n):
        A = N.orientnew(f"A{i}", "Axis", (q[i], N.z))
        A.set_ang_vel(N, u[i] * N.z)
        first = first or A
        end = P.locatenew(f"P{i}", l[i] * A.x)
        end.v2pt_theory(P, N, A)
        bodies.append(me.Particle(f"b{i}", end, m[i]))
        loads.append((end, m[i] * g * N.x))
        P = end
    method = me.KanesMethod(N, q_ind=q, u_ind=u, kd_eqs=[x.diff() - y for x, y in zip(q, u, strict=True)])
    method.kanes_equations(bodies, [*loads, (first, T * N.z)])
    values = {g: 9.81} | {x: 0.8 + 0.05 * k for k, x in enumerate((*m, *l))}
    return SymPyModel(method, values, [T])


def double_pendulum():
    """Two point masses on rods, by Lagrange's method, so that the speeds are derivatives."""
    q, T = me.dynamicsymbols("q1:3"), me.dynamicsymbols("T")
    m, l, g = sm.symbols("m l g")
    N = me.ReferenceFrame("N")
    A, B = N.orientnew("A", "Axis", (q[0], N.z)), N.orientnew("B", "Axis", (q[1], N.z))
    O = me.Point("O")
    O.set_vel(N, 0)
    P = O.locatenew("P", l * A.x)
    R = P.locatenew("R", l * B.x)
    P.v2pt_theory(O, N, A)
    R.v2pt_theory(P, N, B)
    particles = [me.Particle("p", P, m), me.Particle("r", R, m)]
    for p in particles:
        p.potential_energy = -m * g * p.point.pos_from(O).dot(N.x)
    L = me.Lagrangian(N, *particles)
    method = me.LagrangesMethod(L, q, forcelist=[(A, T * N.z)], frame=N)
    method.form_lagranges_equations()
    return SymPyModel(method, {m: 1.1, l: 0.6, g: 9.81}, [T])


def rolling_disc(*, form=True):
    """A disc that rolls on a plane: its centre's three speeds depend on its three turning rates."""
    q, u = me.dynamicsymbols("q1:6"), me.dynamicsymbols("u1:7")
    m, r, g = sm.symbols("m r g")
    N = me.ReferenceFrame("N")
    Y = N.orientnew("Y", "Axis", (q[0], N.z))
    L = Y.orientnew("L", "Axis", (q[1], Y.x))
    R = L.orientnew("R", "Axis", (q[2], L.y))
    turning = R.ang_vel_in(N).express(L)
    R.set_ang_vel(N, u[0] * L.x + u[1] * L.y + u[2] * L.z)
    contact = me.Point("C")
    contact.set_vel(N, u[3] * L.x + u[4] * (Y.z ^ L.x) + u[5] * Y.z)
    centre = contact.locatenew("Cm", r * L.z)
    velocity = centre.v2pt_theory(contact, N, R)
    kinematics = [turning.dot(x) - y for x, y in zip(L, u[:3], strict=True)]
    kinematics += [q[3].diff() - velocity.dot(N.x), q[4].diff() - velocity.dot(N.y)]
    kinematics = [x.subs(sm.Derivative(1, me.dynamicsymbols._t), 0) for x in kinematics]
    rolling = [contact.vel(N).dot(x) for x in (L.x, Y.z ^ L.x, Y.z)]
    disc = me.RigidBody("disc", centre, R, m, (me.inertia(L, m * r**2 / 4, m * r**2 / 2, m * r**2 / 4), centre))
    method = me.KanesMethod(N, q_ind=q, u_ind=u[:3], u_dependent=u[3:], kd_eqs=kinematics, velocity_constraints=rolling)
    if form:
        method.kanes_equations([disc], [(centre, -m * g * Y.z)])
    return SymPyModel(method, {m: 2.0, r: 0.4, g: 9.81})


def located_disc(*, form=True):
    """A rolling disc whose contact point has coordinates; the speeds of these depend on the turning rates."""
    q, u = me.dynamicsymbols("q1:6"), me.dynamicsymbols("u1:6")
    m, r, g = sm.symbols("m r g")
    N = me.ReferenceFrame("N")
    Y = N.orientnew("Y", "Axis", (q[0], N.z))
    L = Y.orientnew("L", "Axis", (q[1], Y.x))
    R = L.orientnew("R", "Axis", (q[2], L.y))
    turning = R.ang_vel_in(N).express(L)
    kinematics = [turning.dot(x) - y for x, y in zip(L, u[:3], strict=True)]
    kinematics += [q[3].diff() - u[3], q[4].diff() - u[4]]
    rates = sm.solve(kinematics, [x.diff() for x in q], dict=True)[0]
    O = me.Point("O")
    O.set_vel(N, 0)
    contact = O.locatenew("C", q[3] * N.x + q[4] * N.y)
    centre = contact.locatenew("Cm", r * L.z)
    w = u[0] * L.x + u[1] * L.y + u[2] * L.z
    carried = L.ang_vel_in(N).express(L).subs(rates)
    R.set_ang_vel(N, w)
    centre.set_vel(N, u[3] * N.x + u[4] * N.y + (carried ^ (r * L.z)))
    slip = centre.vel(N) + (w ^ (-r * L.z))
    disc = me.RigidBody("disc", centre, R, m, (me.inertia(R, m * r**2 / 4, m * r**2 / 2, m * r**2 / 4), centre))
    method = me.KanesMethod(
        N,
        q_ind=q,
        u_ind=u[:3],
        u_dependent=u[3:],
        kd_eqs=kinematics,
        velocity_constraints=[slip.dot(N.x), slip.dot(N.y)],
    )
    bodies, loads = [disc], [(centre, -m * g * N.z)]
    if form:
        method.kanes_equations(bodies, loads)
    return SymPyModel(method, {m: 2.0, r: 0.4, g: 9.81}), bodies, loads


def crane():
    """A System of joints: a cart on rails, a rigid boom on a pin, a load on a ball joint; a spring and a motor."""
    q, u = me.dynamicsymbols("q1:6"), me.dynamicsymbols("u1:6")
    T = me.dynamicsymbols("T")
    m, l, k, g = sm.symbols("m l k g")
    rail = me.RigidBody("rail")
    cart, boom, load = (me.RigidBody(x) for x in ("cart", "boom", "load"))
    for body, scale in ((cart, 3), (boom, 2), (load, 1)):
        body.mass = scale * m
        body.central_inertia = me.inertia(body.frame, scale * m * l**2, m * l**2 / 2, m * l**2, m * l**2 / 20)
    system = me.System.from_newtonian(rail)
    slide = me.PrismaticJoint("slide", rail, cart, q[0], u[0], joint_axis=rail.x)
    ends = {"parent_point": l * cart.z, "child_point": -l * boom.x / 2}
    pin = me.PinJoint("pin", cart, boom, q[1], u[1], joint_axis=cart.y, **ends)
    ends = {"parent_point": l * boom.x / 2, "child_point": l * load.z}
    ball = me.SphericalJoint("ball", boom, load, q[2:], u[2:], rot_type="body", rot_order=213, **ends)
    system.add_joints(slide, pin, ball)
    path = me.LinearPathway(rail.masscenter, boom.masscenter)
    system.add_actuators(me.ForceActuator(-k * path.length, path), me.TorqueActuator(T, boom.y, boom, cart))
    system.apply_uniform_gravity(-g * rail.z)
    return SymPyModel(system, {m: 1.5, l: 0.8, k: 20.0, g: 9.81}, [T])


def four_bar():
    """A System of three links that a configuration constraint closes, with dependent coordinates and speeds."""
    q, u = me.dynamicsymbols("q1:4"), me.dynamicsymbols("u1:4")
    m, l, d, g = sm.symbols("m l d g")
    ground = me.RigidBody("ground_link")
    links = [me.RigidBody(f"link{k}", mass=m) for k in range(1, 4)]
    for link in links:
        link.central_inertia = me.inertia(link.frame, 0, 0, m * l**2 / 12)
    system = me.System.from_newtonian(ground)
    parents, ends = [ground, *links], [None] + [l * x.x / 2 for x in links]
    for k, link in enumerate(links):
        points = {"parent_point": ends[k], "child_point": -l * link.x / 2}
        system.add_joints(me.PinJoint(f"J{k}", parents[k], link, q[k], u[k], joint_axis=ground.z, **points))
    end = links[2].masscenter.locatenew("end", l * links[2].x / 2)
    gap = end.pos_from(ground.masscenter) - d * ground.x
    system.add_holonomic_constraints(gap.dot(ground.x), gap.dot(ground.y))
    system.q_ind, system.q_dep = q[:1], q[1:]
    system.u_ind, system.u_dep = u[:1], u[1:]
    system.apply_uniform_gravity(-g * ground.y)
    return SymPyModel(system, {m: 0.7, l: 1.0, d: 1.3, g: 9.81})


def bicycle():
    """The bicycle of Whipple with the geometry of ``kane.library.whipple_bicycle``; its equations are not formed."""
    method, _, values, *_ = sympy_bicycle.declared()
    return SymPyModel(method, values)
