"""Random calls of everything public, mostly with bad arguments, and the defects that they find.

``python -m tests.oracles.hostile_calls SEED FIRST COUNT`` makes the calls FIRST, FIRST + 1, ... of a seed and prints
the defects. A call depends only on seed and number. ``findings`` makes calls in a separate process, which may crash or
hang.
"""

import contextlib
import inspect
import io
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

import numpy as np

import kane
from tests.oracles.hostile_values import HOSTILE, MJCF, URDF, Scene

ROOT = Path(__file__).resolve().parents[2]
# A call that takes longer than this [s] counts as endless; the slowest valid call, once compiled, takes a tenth.
ENDLESS = 20.0
# Time [s] after which a process without progress is killed, since native code ignores signals; includes compilation.
HUNG = 240.0
# Classes that only kane instantiates and exports for their names: their constructors do not check arguments.
MADE_BY_KANE = {
    "Blocks", "Combination", "Consistent", "Derivatives", "Excitation", "Identification", "Linearization",
    "Undetermined", "Unidentifiable", "Mode", "ModeMotion", "RootLocus", "Sensitivities", "Trim", "View",
    "Assembly", "BestSpeeds", "Certificate", "Dynamics", "Ensemble", "Equations", "FollowedMotion", "Occurrence",
    "PowerLedger", "Reactions", "TipOver", "Trajectory", "TriedSpeeds", "WheelForces", "CompileError",
    "CallError", "UnknownNameError", "AutomatonCheck", "Change", "Comparison", "Digits", "Enclosure", "Explanation",
    "ModesGraph", "Reason", "Shares", "Units",
    "ExpressionError", "FileError", "FrameError", "ImportFileError", "ImportFileWarning", "KaneError", "ModelError",
    "SimulationError",
}  # fmt: skip
# Valid calls of these functions take minutes.
SLOW = {"best_speeds"}
# Internal interfaces, whose arguments have been checked; some are called a million times per model.
SEAMS = {
    "apply", "apply_inverse", "rotate_symmetric", "loaded", "passive", "baked_in", "derived", "lanes", "join",
    "motion", "route", "own", "routes", "unconstrained", "scalar", "of", "route_of", "note_line", "line_of",
}  # fmt: skip
# Values left out for time spans and counts: valid calls with them would take forever or fill the memory.
LARGE = {"1e308", "-1e308", "2**63", "1000 numbers", "[1e308]*3", "np.full(5,1e308)"}
COUNTLESS = {"10**400", "10**5000"}  # left out as numbers of bodies only
LONG = {"until", "start", "times", "max_step", "n", "bodies", "states", "iterations", "links", "wheels", "every", "dt"}


def valid(name, s):
    """Return a function that makes a valid argument of this name in scene ``s``; None if the name is unknown."""
    table = {
        "model": lambda: s.model, "source": lambda: s.lot.choice([URDF, MJCF]), "equations": lambda: BUILT.equations,
        "dyn": lambda: BUILT.dyn, "parent": lambda: s.C, "child": s.new_body, "body": lambda: s.A, "on": lambda: s.B,
        "connection": lambda: s.joint, "a": lambda: s.joint, "b": lambda: s.slide, "follower": lambda: s.joint,
        "cam": lambda: s.slide, "profile": lambda: lambda x: 0.1 * x, "turn": lambda: s.joint,
        "joint": lambda: kane.Revolute("q9", axis="z"), "constraint": lambda: kane.Distance(s.point, s.far, 0.3),
        "load": lambda: kane.Spring(s.slide, 2.0), "P": lambda: s.point, "Q": lambda: s.far,
        "point": lambda: s.point, "centre": lambda: s.far, "axle": lambda: s.C.y, "normal": lambda: s.A.z,
        "direction": lambda: s.direction, "along": lambda: [s.direction], "other": lambda: s.B.x,
        "roller": lambda: kane.Disk(s.far, s.C.y, 0.1), "surface": lambda: kane.Plane(s.point, s.A.z),
        "points": lambda: [s.point, s.far], "length": lambda: 0.3, "radius": lambda: 0.1, "value": lambda: 0.2 * s.q2,
        "ratio": lambda: 2.0, "offset": lambda: 0.1, "effort": lambda: s.tau, "components": lambda: (1.0, 0.0, 0.0),
        "stiffness": lambda: 3.0, "rest": lambda: 0.1, "coefficient": lambda: 0.1, "expressed_in": lambda: s.B,
        "reaction": lambda: None, "name": lambda: "fresh", "at": lambda: (0.0, 0.1, 0.0), "mass": lambda: 1.0,
        "child_at": lambda: (0.0, 0.1, 0.0), "orientation": lambda: s.rotation, "gravity": lambda: (0.0, 0.0, -9.8),
        "child_orientation": lambda: s.rotation, "inertia": lambda: (1.0, 1.0, 1.0), "com": lambda: (0.1, 0.0, 0.0),
        "default": lambda: 1.0, "axis": lambda: "y", "axis1": lambda: "x", "axis2": lambda: "y", "angle": lambda: 0.1,
        "sequence": lambda: "zyx", "expression": lambda: s.q1, "values": lambda: {"q1": 0.1}, "x": lambda: s.q1,
        "abscissae": lambda: [0.0, 1.0, 2.0], "ordinates": lambda: [0.0, 1.0, 4.0], "until": lambda: 0.02,
        "start": lambda: 0.0, "times": lambda: [0.01], "every": lambda: 2, "dt": lambda: 0.01,
        "q": lambda: s.lot.choice([s.q, {"q1": 0.1}, None]),
        "u": lambda: s.lot.choice([s.u, {"u1": 1.0}, None]),
        "udot": lambda: s.u, "inputs": lambda: s.lot.choice([[1.0], {"tau": 1.0}, None]), "t": lambda: 0.1,
        "parameters": lambda: {"m1": 2.0}, "integrator": lambda: kane.RK5(), "charts": lambda: None,
        "progress": lambda: lambda fraction: None, "events": lambda: [kane.Event(BUILT.q1 - 0.05)],
        "target": lambda: kane.LLVM(), "exporter": lambda: kane.Listing(), "folder": lambda: "out", "path": lambda: "o",
        "convention": lambda: "modified", "prefix": lambda: "p_", "joints": lambda: ["q1"], "seed": lambda: 1,
        "table": lambda: [kane.DHLink(0.0, 0.1, 0.0, 0.1, mass=1.0, inertia=(1.0, 1.0, 1.0))],
        "states": lambda: 1, "function": lambda: BUILT.function, "definitions": lambda: s.joint.qdot,
        "dependent": lambda: (), "fixed": lambda: (), "speeds": lambda: "model", "convexity": lambda: 0,
        "lock": lambda: None, "repair": lambda: (), "root": lambda: None, "base": lambda: None, "essential": lambda: (),
        "places": lambda: "q1", "revealed": lambda: BUILT.reactions, "route": lambda: None, "n": lambda: 2,
        "carriage": lambda: [s.A], "wheels": list, "position": lambda: (0.1, 0.1, 0.1), "run": lambda: BUILT.run,
        "factor": lambda: 2.0, "names": lambda: "q1", "coordinate": lambda: "q1", "w": lambda: 1.0, "y": lambda: 0.0,
        "z": lambda: 0.0, "terminal": lambda: False, "rtol": lambda: 1e-6, "atol": lambda: 1e-8, "units": lambda: (),
        "tolerance": lambda: 1e-8, "iterations": lambda: 5, "within": lambda: 0.3, "rows": lambda: np.eye(3),
        "quantities": lambda: ["forward"], "rest_": lambda: (), "out": lambda: None, "args": lambda: s.q1,
        "wrt": lambda: s.lot.choice([["q", "u"], ["m1"], ["inputs"]]), "of": lambda: "forward", "weights": lambda: s.u,
        "cost": lambda: BUILT.q1, "outputs": lambda: [BUILT.q1],
        "viewed": lambda: s.lot.choice([s.model, BUILT.run, BUILT.ensemble, BUILT.dyn]), "ghosts": lambda: [BUILT.run],
        "traces": lambda: [BUILT.equations.bodies[1]], "plots": lambda: ["q1"], "arrows": lambda: ["q1"],
        "sliders": lambda: ["m1"], "size": lambda: (64, 64), "restitution": lambda: 0.5,
        "friction": lambda: kane.Coulomb(0.5),
        "data": lambda: kane.Measurements(np.arange(5.0), np.tile(s.q, (5, 1)), *s.lot.choice([TWICE, TWICE[:1]])),
        "lin": lambda: BUILT.linearization, "mode": lambda: BUILT.linearization.modes()[0], "noise": lambda: 0.1,
        "linearization": lambda: lambda x: x * np.eye(2), "duration": lambda: 2.0, "harmonics": lambda: 3,
        "moments": lambda: ((0.1, 0.0, 0.0), (1.0, 1.0, 1.0)), "amplitude": lambda: 0.1,
        "state": lambda: np.zeros(12), "stage": lambda: BUILT.function.stage([1.0]), "bodies": lambda: 2,
    }  # fmt: skip
    return table.get(name)


BUILT = Scene()
TWICE = np.random.default_rng(0).normal(size=(2, 5, len(BUILT.u)))
PARTS = (
    "model", "A", "joint", "ball", "point", "direction", "rotation", "q1", "tau", "frame", "m1",
)  # fmt: skip
MADE = (
    "equations", "dyn", "function", "run", "ensemble", "followed", "reactions", "force", "ledger", "explicit",
    "lagrange", "tables", "assembly", "certificate", "loop", "derivatives", "linearization", "sensitivities",
)  # fmt: skip


def special(thing):
    """Return the special methods of a class, such as operators, that users call."""
    words = "add radd sub mul rmul truediv rtruediv pow rpow matmul rmatmul neg lt getitem call contains len float"
    return [f"__{word}__" for word in words.split() if f"__{word}__" in dir(thing) and not issubclass(thing, tuple)]


def public_names(thing):
    """Return the names of the public attributes and special methods of an object."""
    builtin = set(dir(tuple))  # attributes of named tuples
    return [n for n in dir(thing) if not n.startswith("_") and n not in builtin | SEAMS] + special(type(thing))


def targets():
    """Return (receiver, attribute) of all calls; the receiver None is kane, and "library" kane.library."""
    found = [(None, n) for n in kane.__all__ if callable(getattr(kane, n)) and n not in MADE_BY_KANE | SLOW]
    found = [t for t in found if not inspect.isabstract(getattr(kane, t[1]))]
    found += [("library", n) for n in kane.library.__all__]
    found += [("Rotation", n) for n in ("about", "matrix", "euler", "rpy", "quaternion", "identity")]
    found += [("Trajectory", "load")]
    for part in (*PARTS, *MADE):
        found += [(part, n) for n in public_names(getattr(BUILT, part))]
    # Constructors and functions of kane and methods of the model take user input: call them 3 times as often.
    return found + 2 * [t for t in found if t[0] in (None, "model")]


TARGETS = targets()


def receiver_of(word, scene):
    if word is None:
        return kane
    if word in ("library", "Rotation", "Trajectory"):
        return getattr(kane, word)
    return getattr(scene if word in PARTS else BUILT, word)


class Call:
    """Random call, determined by seed and number."""

    def __init__(self, seed, number):
        self.lot = random.Random(f"{seed} {number}")
        self.scene = Scene()
        self.scene.lot = self.lot
        self.where, self.name = self.lot.choice(TARGETS)
        self.words = []

    def __str__(self):
        who = f"{self.where or 'kane'}.{self.name}"
        return f"{who}({', '.join(self.words)})"

    def told(self):
        """Return the text of the call with its arguments, without making the call."""
        with contextlib.suppress(Exception):
            self.arguments(inspect.signature(getattr(receiver_of(self.where, self.scene), self.name)))
        return str(self)

    def argument(self, parameter, badness):
        name = "viewed" if self.name == "view" and parameter.name == "source" else parameter.name
        make = valid(name, self.scene)
        lot = self.lot.random()
        if make is not None and lot >= badness:
            self.words.append(f"{name}=valid")
            return make()
        if lot < 0.25 * badness:
            part = self.lot.choice((*PARTS, *MADE))
            self.words.append(f"{name}={part}")
            return getattr(self.scene if part in PARTS else BUILT, part)
        counted = self.where == "library"
        left_out = (LARGE if counted or name in LONG else set()) | (COUNTLESS if counted else set())
        word = self.lot.choice([w for w in HOSTILE if w not in left_out])
        self.words.append(f"{name}={word}")
        return HOSTILE[word]()

    def arguments(self, signature):
        badness = self.lot.choice([0.1, 0.25, 0.25, 0.5, 1.0])
        args, named = [], {}
        for p in signature.parameters.values():
            if p.kind is p.VAR_KEYWORD:
                if self.lot.random() < 0.5:
                    named["u9"] = self.argument(p.replace(name="definitions"), badness)
                continue
            if p.kind is p.VAR_POSITIONAL:
                args += [self.argument(p, badness) for _ in range(self.lot.choice([0, 1, 1, 2]))]
                continue
            needed = p.default is p.empty
            if self.lot.random() < (0.02 if needed else 0.6):
                continue
            if p.kind is p.KEYWORD_ONLY or (p.kind is not p.POSITIONAL_ONLY and (named or not needed)):
                named[p.name] = self.argument(p, badness)
            else:
                args.append(self.argument(p, badness))
        return args, named

    def make(self):
        """Make the call; return an unexpected exception, or None."""
        receiver = receiver_of(self.where, self.scene)
        fits = True
        try:
            thing = getattr(receiver, self.name)
            if not callable(thing) or isinstance(thing, kane.model.body.Body):
                repr(thing), str(thing)
                return None
            signature = inspect.signature(thing)
            args, named = self.arguments(signature)
            try:
                signature.bind(*args, **named)
            except TypeError:
                fits = False
            self.use(thing(*args, **named))
        except kane.KaneError as error:
            if not str(error).strip():
                return error
        except OSError as error:
            return None if self.name in ("save", "load", "export") else error  # errors of the file system are expected
        except TypeError as error:
            return error if fits else None
        except Exception as error:
            return None if raised_by_user(error) else error
        return None

    def use(self, made):
        """Use the returned object as intended, for example add a load to the model; kane may refuse it."""
        m = self.scene.model
        if isinstance(made, kane.View):
            made.close()
        if isinstance(made, kane.model.loads.load.Load):
            m.load(made)
        elif isinstance(made, kane.Constraint):
            m.constrain(made)
        elif isinstance(made, kane.model.joints.joint.Joint):
            m.connect(m.ground, self.scene.new_body(), made)
        elif isinstance(made, kane.Event):
            kane.simulate(BUILT.dyn, until=0.01, events=[made])
        elif isinstance(made, kane.Integrator) and self.lot.random() < 0.2:
            kane.simulate(BUILT.dyn, until=0.01, integrator=made)
        elif isinstance(made, kane.Held | kane.Interpolated):
            kane.simulate(BUILT.dyn, until=0.01, inputs={"tau": made})
        if self.where == "model" and self.lot.random() < 0.2:
            kane.formulate(m)


def raised_by_user(error):
    """Check whether a function given by the user raised the error, which kane must pass on."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return last.name == "<lambda>" and last.filename.endswith("hostile_values.py")


def endless(number, frame):
    raise TimeoutError(f"no end within {ENDLESS} s of work")


def signature_of(error):
    """Return type, text and last lines in kane of an error's traceback."""
    frames = traceback.extract_tb(error.__traceback__)
    kanes = [f for f in frames if "/kane/" in f.filename] or frames[-1:]
    at = [f"{f.filename.rsplit('/kane/')[-1]}:{f.lineno}" for f in kanes[-3:]]
    return f"{type(error).__name__}: {str(error)[:150]!r} at {' > '.join(at)}"


def main(seed, first, count):
    """Make calls and print a line for each defect; a file has the number of the current call for crashes and hangs."""
    place = os.open(os.environ["HOSTILE_PLACE"], os.O_RDWR) if "HOSTILE_PLACE" in os.environ else None
    signal.signal(signal.SIGPROF, endless)
    warnings.simplefilter("error", RuntimeWarning)
    warnings.simplefilter("error", DeprecationWarning)
    warnings.simplefilter("error", np.exceptions.ComplexWarning)
    warnings.simplefilter("ignore", UserWarning)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for made in MADE:  # compile before the time limit starts
            getattr(BUILT, made)
        for number in range(first, first + count):
            call = Call(seed, number)
            if place is not None:
                os.pwrite(place, f"{number:12d}".encode(), 0)
            signal.setitimer(signal.ITIMER_PROF, ENDLESS)
            try:
                with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
                    error = call.make()
            except TimeoutError as late:
                error = late
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0.0)
            if error is not None:
                print(f"{seed} {number}: {call}: {signature_of(error)}".encode("ascii", "replace").decode(), flush=True)


def findings(seed, count, first=0):
    """Return a line for each defect in ``count`` calls; crashes and hangs of the process are defects."""
    lines, end = [], first + count
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "place"
        environment = {**os.environ, "HOSTILE_PLACE": str(place)}
        while first < end:
            place.write_text(f"{first - 1:12d}")
            command = [sys.executable, "-X", "faulthandler", "-m", __name__, str(seed), str(first), str(end - first)]
            with open(place.with_name("out"), "w+") as out, open(place.with_name("err"), "w+") as err:
                made = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=out, stderr=err)
                fate = _watched(made, place)
            lines += place.with_name("out").read_text().splitlines()
            complaint = place.with_name("err").read_text()
            last = int(place.read_text())
            if fate or made.returncode:
                lines.append(f"{seed} {last}: {Call(seed, last).told()}: {fate or complaint[-2000:]}")
            first = max(last, first) + 1 if fate or made.returncode else end
    return lines


def _watched(process, place):
    """Wait for a process and kill it if it makes no progress; return a message if it was killed, else ""."""
    last, since = place.read_text(), time.monotonic()
    while process.poll() is None:
        try:
            process.wait(0.5)
        except subprocess.TimeoutExpired:
            now = place.read_text()
            if now != last:
                last, since = now, time.monotonic()
            elif time.monotonic() - since > HUNG:
                process.kill()
                return f"no end within {HUNG} s, even when asked to"
    return ""


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
