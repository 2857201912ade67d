"""A car backs its trailer into a gap between two parked cars, with the least time and effort.

No axle skids, and both keep away from the parked cars; extra ``casadi``. Draws out/parked_trailer.png.
"""

import math
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import kane

OUT = Path("out")
# Parked cars: circles of 0.9 m at their corners [m]. Circles of 1.05 m cover car and trailer.
CORNERS, CLEARANCE = (3.8 + 3.0j, 8.2 + 3.0j), 0.9 + 1.05
CAR = np.array([-0.9 - 0.85j, 3.5 - 0.85j, 3.5 + 0.85j, -0.9 + 0.85j])  # from the rear axle
TRAILER = np.array([-3.6 - 0.8j, -1.2 - 0.8j, 0.0, -1.2 + 0.8j, -3.6 + 0.8j])  # from the hitch


def car_with_trailer() -> tuple[kane.Dynamics, list[Any]]:
    """Return a car with a trailer, and the squared distances of their circles from the corners [m^2]."""
    m = kane.Model("car with a trailer")
    car = m.body("car", mass=1200.0, inertia=(300.0, 1500.0, 1500.0), com=(1.3, 0, 0))
    wheels = m.body("front wheels", mass=40.0, inertia=(1.0, 1.0, 2.0))
    trailer = m.body("trailer", mass=600.0, inertia=(200.0, 500.0, 500.0), com=(-2.0, 0, 0))
    m.connect(m.ground, car, kane.Planar("car"))
    steering = m.connect(car, wheels, kane.Revolute("steer", axis="z"), at=(2.7, 0, 0))
    m.connect(car, trailer, kane.Revolute("hitch", axis="z"), at=(-0.9, 0, 0))
    for body, x in ((car, 0.0), (wheels, 0.0), (trailer, -2.5)):
        m.constrain(kane.NoSkid(body.point((x, 0, 0)), body.y), name=f"axle of {body.name}")
    m.load(kane.Force(car.point(), (m.input("drive"), 0, 0), expressed_in=car))
    m.load(kane.Motor(steering, m.input("steering")))
    along, across = (car.point().velocity.dot(x) for x in (car.x, car.y))
    rates = {f"{name}_rate": m.rate(name) for name in ("steer", "car_angle", "hitch")}
    m.speeds(v=along, across=across, **rates, dependent=("across", "car_angle_rate", "hitch_rate"))
    middles = [body.point((x, 0, 0)) for body, x in ((trailer, -3.2), (trailer, -2.2), (car, 0.0), (car, 1.8))]
    places = [(P.position.dot(m.ground.x), P.position.dot(m.ground.y)) for P in middles]
    return kane.build(kane.formulate(m)), [(x - z.real) ** 2 + (y - z.imag) ** 2 for x, y in places for z in CORNERS]


def main() -> None:
    dyn, apart = car_with_trailer()
    drive, torque = dyn.equations.inputs
    still = dict.fromkeys(("steer", "hitch", "v", "steer_rate"), 0.0)
    parking = kane.collocate(
        dyn,
        duration=(5.0, 55.0),
        nodes=81,
        objective=kane.final(dyn.equations.t) + kane.integral((drive / 1000) ** 2 + (torque / 10) ** 2),
        start={"car_x": 0.0, "car_y": 8.0, "car_angle": 0.0} | still,
        end={"car_x": 6.0, "car_y": 5.0, "car_angle": math.pi / 2} | still,
        path=[(squared, CLEARANCE**2, None) for squared in apart],
        bounds={"steer": (-0.6, 0.6), "hitch": (-1.0, 1.0), "v": (-2, 2), "drive": (-1500, 1500), "car_y": (0, 12)},
    )
    print(f"parked in {parking.duration:.2f} s; {parking.message}\n{kane.verify(parking)}")

    figure = Figure(figsize=(10, 5), layout="constrained")
    path, angles = figure.subplots(1, 2, width_ratios=[1.5, 1.0])
    for k in np.linspace(0, len(parking.time) - 1, 13).astype(int):
        x, y, angle, _, hitch = parking.q[k]
        place, turn, colour = x + 1j * y, np.exp(1j * angle), f"{0.8 - 0.7 * k / len(parking.time):.2f}"
        for outline in (place + CAR * turn, place - 0.9 * turn + TRAILER * turn * np.exp(1j * hitch)):
            path.fill(outline.real, outline.imag, fill=False, ec=colour)
    path.plot(*parking.q[:, :2].T, "C0")
    for z in CORNERS:
        rim = z + 0.9 * np.exp(1j * np.linspace(0, 2 * np.pi))
        path.fill(rim.real, rim.imag, "C3")
    path.set(xlabel="x [m]", ylabel="y [m]", aspect="equal")
    angles.plot(parking.time, np.degrees(parking.q[:, 3:]), label=["steering", "hitch"])
    angles.set(xlabel="time [s]", ylabel="angle [deg]")
    figure.legend(loc="outside upper right", ncols=2)
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "parked_trailer.png", dpi=120)


if __name__ == "__main__":
    main()
