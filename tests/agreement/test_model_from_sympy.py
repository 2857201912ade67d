"""Models from SymPy's kinematics: kane derives the accelerations that SymPy derives, and the models certify."""

import numpy as np
import pytest
import sympy as sm
import sympy.physics.mechanics as me
import sympy_models

import kane

MODELS = {
    "cart pendulum": sympy_models.cart_pendulum,
    "chain with absolute angles": lambda: sympy_models.chain(4),
    "rolling disc": lambda: sympy_models.located_disc()[0],
    "crane": sympy_models.crane,
    "four-bar": sympy_models.four_bar,
}


@pytest.fixture(scope="module", params=MODELS)
def given(request):
    return MODELS[request.param]()


def read(given, **more):
    return kane.model_from_sympy(given.method, parameters=given.values, inputs=given.inputs, **more)


def accelerations(given, q, u, inputs):
    """SymPy's accelerations at a state."""
    method = given.method
    if isinstance(method, me.System):
        method.form_eoms()
        method = method.eom_method
    at = dict(zip((*method.q, *method.u, *given.inputs), (*q, *u, *inputs), strict=True)) | given.values
    M, f = sm.lambdify(list(at), [method.mass_matrix, method.forcing], "numpy", cse=True)(*at.values())
    return np.linalg.solve(M, f).ravel()


def test_accelerations_are_those_that_sympy_derives(given):
    """At random states that satisfy the constraints; 1e-10 is the bound of the project."""
    eqs = kane.formulate(read(given))
    dyn, random = kane.build(eqs), np.random.default_rng(2)
    for _ in range(3):
        q, u = random.normal(size=len(eqs.q)), random.normal(size=len(eqs.u))
        if eqs.constraints:
            found = kane.assemble(eqs, q={eqs.q[0].name: q[0]}, u={eqs.u[0].name: u[0]})
            q, u = found.q, found.u
        inputs = random.normal(size=len(eqs.inputs))
        expected = accelerations(given, q, u, inputs)
        assert np.allclose(dyn.forward(q, u, inputs), expected, rtol=1e-10, atol=1e-10)


def test_models_certify(given):
    certificate = kane.certify(read(given))
    assert certificate.holds, certificate


def test_the_order_and_names_of_coordinates_and_speeds_are_sympys(given):
    eqs = kane.formulate(read(given, name="from SymPy"))
    method = given.method
    wanted = [x.func.__name__ for x in (*method.q, *method.u)]
    assert [leaf.name for leaf in (*eqs.q, *eqs.u)] == wanted
    assert (eqs.name, [leaf.name for leaf in eqs.inputs]) == ("from SymPy", [str(x.func) for x in given.inputs])


def test_weights_become_gravity(given):
    """So that the potential energy has them: it changes by m g h when the gravity changes."""
    assert any(x != 0.0 for x in read(given).gravity)


def test_equations_need_not_be_formed():
    given, bodies, loads = sympy_models.located_disc(form=False)
    formed, _, _ = sympy_models.located_disc()
    q, u = [0.3, 0.2, 0.1, 0.5, 0.6], [0.4, -0.2, 1.1, 0.0, 0.0]
    found = kane.build(kane.formulate(read(given, bodies=bodies, loads=loads))).forward(q, u)
    assert np.allclose(found, accelerations(formed, q, u, []), rtol=1e-10, atol=1e-10)
    with pytest.raises(kane.ModelError, match="does not know its bodies yet; give bodies="):
        read(given)


@pytest.mark.slow
def test_the_bicycle_is_that_of_the_library():
    """Whipple's bicycle; that the library's has the published eigenvalues is tested in tests/papers."""
    eqs = kane.formulate(read(sympy_models.bicycle()))
    theirs = kane.formulate(kane.library.whipple_bicycle())
    assert [leaf.name for leaf in eqs.q] == ["x", "y", "yaw", "roll", "steer", "rear", "front", "heave", "pitch"]
    at = {"roll": 0.2, "steer": 0.3, "yaw": 0.4, "heave": -0.3, "rear": 0.1, "front": 0.2}
    state = kane.assemble(theirs, q=at, u={"roll_dot": 0.3, "steer_dot": -0.2, "rear_dot": -7.0})
    values = {leaf.name: x for leaf, x in zip((*theirs.q, *theirs.u), (*state.q, *state.u), strict=True)}
    q, u = ([values[leaf.name] for leaf in group] for group in (eqs.q, eqs.u))
    expected = dict(zip(values, [*state.q, *kane.build(theirs).forward(state.q, state.u)], strict=True))
    found, dyn = kane.build(eqs).forward(q, u), kane.build(eqs)
    assert found == pytest.approx([expected[leaf.name] for leaf in eqs.u], rel=1e-11, abs=1e-11)
    assert max(map(float, dyn.constraint_residuals(q, u).largest)) < 1e-13


def test_a_body_on_a_moving_path_keeps_its_speed_of_choice():
    """By hand: a bead on the curve (q, q^2) of a platform that slides by sin t; u = 3 q'."""
    q, u, t = me.dynamicsymbols("q"), me.dynamicsymbols("u"), me.dynamicsymbols._t
    m = sm.Symbol("m")
    N, O = me.ReferenceFrame("N"), me.Point("O")
    O.set_vel(N, 0)
    bead = O.locatenew("bead", sm.sin(t) * N.x).locatenew("P", q * N.x + q**2 * N.y)
    bead.set_vel(N, (sm.cos(t) + u / 3) * N.x + 2 * q * u / 3 * N.y)
    method = me.KanesMethod(N, [q], [u], [u - 3 * q.diff()], bodies=[me.Particle("bead", bead, m)])
    found = kane.build(kane.formulate(kane.model_from_sympy(method, parameters={m: 2.0})))
    x, rate, at = 0.7, 0.5 / 3, 0.4
    slope = 2 * x  # (1 + y'^2) q'' + y' y'' q'^2 - sin t = 0
    expected = 3 * (np.sin(at) - slope * 2 * rate**2) / (1 + slope**2)
    assert found.forward([x], [0.5], (), at) == pytest.approx([expected], rel=1e-13)


def one_body(position=None, orientation=None, **more):
    """A KanesMethod of one particle or body, with changes that make it unreadable."""
    q, u = me.dynamicsymbols("q1:4"), me.dynamicsymbols("u1:4")
    N, O = me.ReferenceFrame("N"), me.Point("O")
    O.set_vel(N, 0)
    B = N.orientnew("B", "Axis", (q[2], N.z))
    if orientation:
        B = orientation(N, q)
    P = O.locatenew("P", position(N, q) if position else q[0] * N.x + q[1] * N.y)
    P.set_vel(N, more.pop("velocity", lambda N: u[0] * N.x + u[1] * N.y)(N))
    body = me.RigidBody("body", P, B, 1, (me.inertia(more.pop("inertia", lambda N, B: B)(N, B), 1, 2, 3), P))
    settings = {"kd_eqs": [a.diff() - b for a, b in zip(q, u, strict=True)], "u_ind": u, "bodies": [body]} | more
    return me.KanesMethod(N, q_ind=q, **settings)


q1, q2, q3 = me.dynamicsymbols("q1:4")
u1, u2, u3 = me.dynamicsymbols("u1:4")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"position": lambda N, q: q[0] * N.x}, "no body's position or orientation depends on the coordinate q2"),
        ({"position": lambda N, q: q[0] * q[1] * N.x}, "the position of P from O mixes 'q1' with q2"),
        ({"position": lambda N, q: q[0] * N.x + u2 * N.y}, "the position of P from O depends on u2"),
        ({"position": lambda N, q: q[0] * N.x + q[1].diff() * N.y}, "the position of P from O depends on q2'"),
        ({"velocity": lambda N: u2 * N.x}, "the velocity of the point P in N is not the derivative"),
        ({"inertia": lambda N, B: N}, "the inertia of body 'body' depends on 'q3' along its own axes"),
        (
            {"kd_eqs": [q1.diff() - u1, q2.diff() - u1, q3.diff() - u3]},
            "kinematical differential equations do not determine the speed u2",
        ),
        ({"kd_eqs": None}, "has no kinematical differential equations"),
        ({"orientation": lambda N, q: me.ReferenceFrame("B")}, "is not oriented in the inertial frame.*spin angle"),
        (
            {
                "orientation": lambda N, q: N.orientnew("A", "Axis", (q[0], N.z)).orientnew(
                    "B", "Body", (q[2], q[0], 0), "ZXZ"
                )
            },
            "the orientation of B in A is no rotation about one axis, and depends on q1, q3",
        ),
    ],
)
def test_models_beyond_the_supported_forms_are_refused(change, message):
    method = one_body(**change)
    with pytest.raises(kane.ModelError, match=message):
        kane.model_from_sympy(method)


def test_auxiliary_speeds_are_zero_and_their_forces_are_reactions():
    """SymPy's auxiliary equations of the pivot of a pendulum vouch for the force that kane reveals."""
    q, u, ax, ay, Rx, Ry = me.dynamicsymbols("q u ax ay Rx Ry")
    m, l, g = sm.symbols("m l g")
    N, O = me.ReferenceFrame("N"), me.Point("O")
    O.set_vel(N, ax * N.x + ay * N.y)
    A = N.orientnew("A", "Axis", (q, N.z))
    A.set_ang_vel(N, u * N.z)
    C = O.locatenew("C", l * A.x)
    C.v2pt_theory(O, N, A)
    rod = me.RigidBody("rod", C, A, m, (me.inertia(A, 0, m * l**2, m * l**2), C))
    loads = [(C, m * g * N.x), (O, Rx * N.x + Ry * N.y)]
    method = me.KanesMethod(N, [q], [u], [q.diff() - u], u_auxiliary=[ax, ay], bodies=[rod], forcelist=loads)
    method.kanes_equations([rod], loads)
    values = {m: 1.3, l: 0.6, g: 9.81}
    eqs = kane.formulate(kane.model_from_sympy(method, parameters=values, inputs=[Rx, Ry]))
    dyn, state = kane.build(eqs), ([0.4], [1.1], [0.0, 0.0])
    udot = dyn.forward(*state)
    at = {q: 0.4, u: 1.1, u.diff(): udot[0], q.diff(): 1.1, ax: 0, ay: 0, **values}
    assert udot == pytest.approx([float((method.forcing[0] / method.mass_matrix[0]).subs(at))], rel=1e-13)
    held = sm.solve([x.subs({ax.diff(): 0, ay.diff(): 0}).subs(at) for x in method.auxiliary_eqs], [Rx, Ry])
    own = kane.to_sympy(eqs, reactions=kane.reveal_reactions(eqs, eqs.model.connections[0])).expanded()
    forces = {x: 0 for x in own.auxiliary_eqs.atoms(sm.Function) if str(x.func).startswith("joint_of_A")}
    found = [float(x.subs(forces).subs(at).doit()) for x in own.auxiliary_eqs[:2]]
    assert np.hypot(*found[:2]) == pytest.approx(float(sm.sqrt(held[Rx] ** 2 + held[Ry] ** 2)), rel=1e-12)


def test_quaternions_are_refused_with_the_change_to_make():
    q, u = me.dynamicsymbols("q0:4"), me.dynamicsymbols("u0:4")
    N, O = me.ReferenceFrame("N"), me.Point("O")
    O.set_vel(N, 0)
    B = N.orientnew("B", "Quaternion", q)
    body = me.RigidBody("body", O, B, 1, (me.inertia(B, 1, 2, 3), O))
    method = me.KanesMethod(N, q, u, [a.diff() - b for a, b in zip(q, u, strict=True)], bodies=[body])
    with pytest.raises(kane.ModelError, match=r"such as a quaternion; orient the frame by three angles.*Spherical"):
        kane.model_from_sympy(method)


def test_points_without_positions_are_refused():
    given = sympy_models.rolling_disc(form=False)
    N = given.method._inertial
    P = me.Point("P")
    P.set_vel(N, u1 * N.x)
    bodies = [me.Particle("p", P, 1)]
    with pytest.raises(kane.ModelError, match="no point with a position relative to the bodies is fixed in N"):
        kane.model_from_sympy(given.method, parameters=given.values, bodies=bodies)
    O = P.locatenew("O", N.x)
    O.set_vel(N, 0)
    lost = me.Particle("lost", me.Point("Q"), 1)
    with pytest.raises(kane.ModelError, match="the point Q has no position relative to O; give it a position"):
        kane.model_from_sympy(given.method, parameters=given.values, bodies=[*bodies, lost])


def test_other_objects_and_symbols_without_values_are_refused():
    with pytest.raises(kane.ModelError, match="takes a System or KanesMethod"):
        kane.model_from_sympy(sympy_models.double_pendulum().method)
    given = sympy_models.cart_pendulum()
    with pytest.raises(kane.ModelError, match="the mass of body 'cart' contains M, which has no value; add it"):
        kane.model_from_sympy(given.method, inputs=given.inputs)
    with pytest.raises(kane.ModelError, match="parameters is a dict"):
        kane.model_from_sympy(given.method, parameters=5)


def test_speeds_that_are_derivatives_are_refused():
    q = me.dynamicsymbols("q")
    wall, block = me.RigidBody("wall"), me.RigidBody("block", mass=1)
    system = me.System.from_newtonian(wall)
    system.add_joints(me.PrismaticJoint("slide", wall, block, q, q.diff(), joint_axis=wall.x))
    with pytest.raises(kane.ModelError, match=r"the speed Derivative\(q\(t\), t\) is the rate of a coordinate"):
        kane.model_from_sympy(system)
