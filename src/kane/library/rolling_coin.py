"""A coin that rolls on a plane."""

from __future__ import annotations

from kane.model.constraints import Rolling
from kane.model.joints import Planar, Revolute
from kane.model.model import Model
from kane.model.shapes import Disk, Plane


def rolling_coin() -> Model:
    """Return a thin uniform disk of mass m [kg] and radius r [m] that rolls without slip on a horizontal plane.

    Coordinates: x, y of the point in contact [m], heading yaw, tilt lean about the heading, rotation spin about the
    axle [rad]. The axes are b1 along the heading, b2 along the axle and b3 up the disk. The speeds are u1, u2, u3 = w .
    b1, w . b2, w . b3 [rad/s]. They determine the five rates through the rolling constraint.

    Source: Kane & Levinson 1985, Dynamics: Theory and Applications, sec. 3.5 (rolling disk); Neimark & Fufaev 1972.
    """
    model = Model("rolling_coin")
    m, r, g = (model.parameter(name, value) for name, value in (("m", 0.1), ("r", 0.05), ("g", 9.81)))
    model.gravity = (0.0, 0.0, -g)
    heading, plate = (model.body(name, mass=0.0) for name in ("heading", "plate"))
    coin = model.body("coin", mass=m, inertia=(m * r**2 / 4, m * r**2 / 2, m * r**2 / 4))
    model.connect(model.ground, heading, Planar(("x", "y", "yaw")), name="contact")
    model.connect(heading, plate, Revolute("lean", axis="x"))
    model.connect(plate, coin, Revolute("spin", axis="y"), at=(0.0, 0.0, r))
    w = coin.angular_velocity
    rim = coin.shape(Disk(coin.point(), coin.y, r))
    model.constrain(Rolling(rim, Plane(model.ground.point(), model.ground.z)), name="rolling")
    model.speeds(u1=w.dot(plate.x), u2=w.dot(plate.y), u3=w.dot(plate.z))
    return model
