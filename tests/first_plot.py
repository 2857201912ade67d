"""A first plot, as a newcomer's first program: run by the trial of each wheel, in an environment with kane alone."""

import os
import sys
import tempfile

import kane

m = kane.Model("pendulum")
bob = m.body("bob", mass=1.0, inertia=(0.01, 0.01, 0.002), com=(0, 0, -0.5))
hinge = m.connect(m.ground, bob, kane.Revolute("q", axis="y"))
m.stop(hinge, lower=-0.5, upper=2.0, restitution=0.5)
run = kane.simulate(kane.build(kane.formulate(m)), until=3.0, q={"q": 1.0})
path = os.path.join(tempfile.mkdtemp(), "pendulum.png")
run.plot().savefig(path)
assert run.events, "the pendulum strikes its stop"
assert "numba" not in sys.modules, "the native code of the wheel was not used"
print(f"{os.path.getsize(path)} bytes of picture, final angle {run.final.q[0]!r} rad")
