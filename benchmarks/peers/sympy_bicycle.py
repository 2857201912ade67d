"""The bicycle of Whipple as a KanesMethod of SymPy, with the geometry of kane.library.whipple_bicycle."""

from typing import Any


def declared() -> tuple[Any, Any, dict[Any, float], Any, Any]:
    """Declares the bicycle; its equations are not formed.

    The wheels' lowest points give two configuration constraints, and four velocity constraints of rolling.

    Returns:
        SymPy's KanesMethod; no efforts; the value of g; bodies; loads.
    """
    import sympy as sm
    from sympy.physics import mechanics as me

    g = sm.Symbol("g")
    names = ("heave", "x", "y", "yaw", "roll", "pitch", "steer", "rear", "front")
    free = ("roll", "steer", "rear")
    q = dict(zip(names, me.dynamicsymbols(" ".join(names)), strict=True))
    u = {name: me.dynamicsymbols(f"{name}_dot") for name in names}
    tilt, rear, front, base, trail = sm.pi / 10, 0.3, 0.35, 1.02, 0.08
    N, O = me.ReferenceFrame("N"), me.Point("O")
    O.set_vel(N, 0)
    frames, last = {}, N
    for name, axis in (("yaw", "z"), ("roll", "x"), ("pitch", "y")):
        frames[name] = last.orientnew(name.title(), "Axis", (q[name], getattr(last, axis)))
        frames[name].set_ang_vel(last, u[name] * getattr(last, axis))
        last = frames[name]
    frame = last
    head = frame.orientnew("Head", "Axis", (tilt, frame.y))
    fork = head.orientnew("Fork", "Axis", (q["steer"], head.z))
    fork.set_ang_vel(head, u["steer"] * head.z)
    spun = {}
    for name, carrier in (("rear", frame), ("front", fork)):
        spun[name] = carrier.orientnew(name.title(), "Axis", (q[name], carrier.y))
        spun[name].set_ang_vel(carrier, u[name] * carrier.y)
    hub = O.locatenew("hub", q["x"] * N.x + q["y"] * N.y + q["heave"] * N.z)
    hub.set_vel(N, u["x"] * N.x + u["y"] * N.y + u["heave"] * N.z)
    foot = hub.locatenew("foot", (base + trail) * frame.x + rear * frame.z)  # of the steer axis, on the road
    seat = hub.locatenew("seat", 0.3 * frame.x + (rear - 0.9) * frame.z)
    # Points of the fork, by their distances from the upright steer axis: (x, z) of the frame become (x, z) of the head.
    turned = head.dcm(frame)
    places = {"front hub": (-trail, 0, -front), "fork centre": (0.9 - base - trail, 0, -0.7)}
    on_fork = {name: turned * sm.Matrix(place) for name, place in places.items()}
    front_hub, fork_centre = (foot.locatenew(k, v[0] * fork.x + v[2] * fork.z) for k, v in on_fork.items())
    carried = (seat, hub, frame), (foot, hub, frame), (front_hub, foot, fork), (fork_centre, foot, fork)
    for point, before, carrier in carried:
        point.v2pt_theory(before, N, carrier)
    bodies = [
        me.RigidBody("frame", seat, frame, 85.0, (me.inertia(frame, 9.2, 11.0, 2.8, 0, 0, 2.4), seat)),
        me.RigidBody("rear wheel", hub, spun["rear"], 2.0, (me.inertia(spun["rear"], 0.0603, 0.12, 0.0603), hub)),
    ]
    moments = me.inertia(spun["front"], 0.1405, 0.28, 0.1405)
    bodies.append(me.RigidBody("front wheel", front_hub, spun["front"], 3.0, (moments, front_hub)))
    # The fork's moments are given along the frame's axes at zero steer, which are those of a frame tilted back.
    tilted = fork.orientnew("Tilted", "Axis", (-tilt, fork.y))
    moments = me.inertia(tilted, 0.05892, 0.06, 0.00708, 0, 0, -0.00756)
    bodies.append(me.RigidBody("fork", fork_centre, fork, 4.0, (moments, fork_centre)))
    configuration, rolling = [], []
    for centre, radius, carrier, wheel in ((hub, rear, frame, spun["rear"]), (front_hub, front, fork, spun["front"])):
        lean = N.z.dot(carrier.y)
        length = sm.sqrt(1 - lean**2)
        configuration.append(centre.pos_from(O).dot(N.z) + radius * length)
        slip = centre.vel(N) + (wheel.ang_vel_in(N) ^ (radius / length * (N.z - lean * carrier.y)))
        rolling += [slip.dot(N.x), slip.dot(N.y)]
    dependent = [name for name in names if name not in free]
    method = me.KanesMethod(
        N,
        q_ind=[q[name] for name in names if name not in ("heave", "pitch")],
        q_dependent=[q["heave"], q["pitch"]],
        u_ind=[u[name] for name in free],
        u_dependent=[u[name] for name in dependent],
        kd_eqs=[q[name].diff() - u[name] for name in names],
        configuration_constraints=configuration,
        velocity_constraints=[*rolling, *_rates(configuration, q, u)],
        bodies=bodies,
        forcelist=[(b.masscenter, b.mass * g * N.z) for b in bodies],
    )
    return method, [], {g: 9.81}, bodies, [(b.masscenter, b.mass * g * N.z) for b in bodies]


def _rates(configuration: Any, q: Any, u: Any) -> list[Any]:
    """The rates of configuration constraints in the speeds."""
    from sympy.physics import mechanics as me

    t = me.dynamicsymbols._t
    return [x.diff(t).subs({q[name].diff(): u[name] for name in q}) for x in configuration]
