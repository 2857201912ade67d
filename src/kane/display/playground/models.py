"""Texts of the models that the playground offers; the first one is shown at the start."""

from __future__ import annotations

_PENDULUM = """import kane

model = kane.Model("double pendulum")  # gravity along -z
L = model.parameter("L", 0.6)
upper = model.body("upper", mass=1.0, inertia=(0.03, 0.03, 0.001), com=(0, 0, -L / 2))
lower = model.body("lower", mass=0.5, inertia=(0.01, 0.01, 0.001), com=(0, 0, -0.2))
shoulder = model.connect(model.ground, upper, kane.Revolute("q1", axis="y"), at=(0, 0, 1))
elbow = model.connect(upper, lower, kane.Revolute("q2", axis="y"), at=(0, 0, -L))
model.load(kane.Damper(elbow, model.parameter("c", 0.02)))
model.load(kane.Motor(shoulder, model.input("torque")))

q = {"q1": 1.0, "q2": 1.5}
"""
_CART = """import kane

model = kane.Model("cart and pole")  # gravity along -z
cart = model.body("cart", mass=2.0, inertia=(0.1, 0.1, 0.1))
pole = model.body("pole", mass=0.4, inertia=(0.02, 0.02, 0.001), com=(0, 0, 0.4))
rail = model.connect(model.ground, cart, kane.Prismatic("x", axis="x"))
model.connect(cart, pole, kane.Revolute("tilt", axis="y"))
model.load(kane.Motor(rail, model.input("force")))
model.load(kane.Damper(rail, 0.3))

q = {"tilt": 0.2}
"""
_BALL = """import kane

model = kane.Model("ball on a floor")  # gravity along -z
ball = model.body("ball", mass=0.5, inertia=(0.002, 0.002, 0.002))
model.connect(model.ground, ball, kane.Free("ball"), at=(0, 0, 0.3))
floor = kane.Plane(model.ground.point(), model.ground.z)
model.contact(kane.Sphere(ball.point(), 0.1), floor, friction=kane.Coulomb(0.4), restitution=0.6, name="floor")
"""
# Models of kane.library, with initial values that show a motion.
_LIBRARY = {
    "andrews_squeezer": "",
    "bricard": "",
    "chain": "",
    "chaplygin_sleigh": 'u = {"u1": 1.0, "u2": 2.0}',
    "flyball_governor": 'q = {"q2": 1.0472, "q3": 1.0472, "q4": 0.5}\nu = {"u1": 6.2832}',
    "four_bar": 'q = {"q1": 0.5}\nu = {"u1": 7.0}',
    "mobile_manipulator": 'u = {"u1": 0.5, "u5": 1.0}',
    "n_four_bar": 'u = {"a0_dot": 3.0}',
    "n_link_pendulum": 'q = {"q2": 1.0, "q3": 1.5, "q4": 2.0}',
    "random_tree": "",
    "rolling_coin": 'q = {"lean": 0.4}\nu = {"u1": 1.0, "u2": 6.0, "u3": 12.0}',
    "rolling_disk": "",
    "shopping_cart": 'q = {"q4": 0.6}\nu = {"u1": 0.6}',
    "six_axis_arm": "",
    "slider_crank": 'q = {"q1": 0.5}\nu = {"u1": 8.0}',
    "sliding_disk": "",
    "spacecraft_tree": 'u = {"root_wx": 0.3, "G1_1_dot": 0.5, "G3_dot": 0.8, "G4_1_dot": -0.6}',
    "stanford_arm": "",
    "stewart_platform": "",
    "whipple_bicycle": 'u = {"x_dot": 4.6, "roll_dot": 0.4}',
    "wrist": "",
}


def _of_library(name: str, start: str) -> str:
    return f"import kane\n\nmodel = kane.library.{name}()\n{f'{chr(10)}{start}{chr(10)}' if start else ''}"


MODELS = {
    "double pendulum": _PENDULUM,
    "cart and pole": _CART,
    "ball on a floor": _BALL,
    **{name: _of_library(name, start) for name, start in _LIBRARY.items()},
}
