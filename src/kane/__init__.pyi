"""Multibody dynamics by Kane's method: describe a mechanism, read its equations, run them as native code."""

from kane import haptics, library
from kane.analysis.assembly.assemble import Assembly, assemble
from kane.analysis.certificate.certificate import Certificate, certify
from kane.analysis.identification.consistent import Consistent
from kane.analysis.identification.excitation import Excitation, excitation
from kane.analysis.identification.identification import Combination, Identification, Undetermined, Unidentifiable
from kane.analysis.identification.identify import identify
from kane.analysis.identification.measurements import Measurements
from kane.analysis.inverse_kinematics import inverse_kinematics
from kane.analysis.linear.linearization import Linearization, Mode
from kane.analysis.linear.linearize import linearize
from kane.analysis.linear.mode_motion import ModeMotion, mode_motion
from kane.analysis.linear.root_locus import RootLocus, root_locus
from kane.analysis.linear.trim import Trim, trim
from kane.analysis.margins.slip import WheelForces, wheel_forces
from kane.analysis.margins.tip_over import TipOver, tip_over
from kane.analysis.power_ledger import PowerLedger, power_ledger
from kane.analysis.sensitivities.sensitivities import Sensitivities, sensitivities
from kane.dynamics.build import LLVM, build
from kane.dynamics.compile_modes import compile_modes
from kane.dynamics.derivatives.derivatives import Blocks, Derivatives
from kane.dynamics.dynamics import Dynamics
from kane.dynamics.reactions.revealed import AuxiliarySpeeds, Multipliers, OrthogonalComplement, RevealedReactions
from kane.ensembles.ensemble import Ensemble
from kane.ensembles.simulate_many import simulate_many
from kane.errors import (
    CallError,
    CompileError,
    ExpressionError,
    FileError,
    FrameError,
    ImportFileError,
    ImportFileWarning,
    KaneError,
    ModelError,
    SimulationError,
    UnknownNameError,
)
from kane.exporters import CSource, JavaScriptSource, JAXSource, LaTeXDocument, Listing, NumPySource, export
from kane.expression.functions import (
    absolute,
    acos,
    asin,
    atan2,
    cos,
    equal,
    exp,
    log,
    maximum,
    minimum,
    select,
    sign,
    sin,
    spline,
    sqrt,
    tan,
    tanh,
)
from kane.expression.interpret import evaluate
from kane.formulation.equations import Equations
from kane.formulation.equations_form import load_equations, save_equations
from kane.formulation.formulate import constrain, explicit, formulate, substitute
from kane.formulation.reactions.reactions import Reactions, reveal_reactions
from kane.formulation.search.best_speeds import BestSpeeds, TriedSpeeds, best_speeds
from kane.formulation.search.decoupling import decoupling_speeds
from kane.formulation.witnesses.lagrange import lagrange
from kane.formulation.witnesses.path_tables import path_tables
from kane.geometry.rotation import Rotation
from kane.importers.dh.conventions import AngelesDH, DHConvention, ModifiedDH, StandardDH
from kane.importers.dh.dh import DHLink, from_dh
from kane.importers.example_robot_data import example_robot
from kane.importers.mjcf.mjcf import load_mjcf
from kane.importers.urdf.urdf import load_urdf
from kane.model.constraints import (
    Cam,
    Coincidence,
    Constraint,
    Distance,
    Gear,
    NoSkid,
    Parallel,
    Prescribed,
    Rolling,
    Rope,
    Row,
    Sliding,
)
from kane.model.contacts import Candidate, Contact, Coulomb, Intermittent, Newton, Poisson
from kane.model.inertial_parameters import inertial_parameters
from kane.model.joints import (
    AngleRates,
    CustomJoint,
    Cylindrical,
    Free,
    Gimbal,
    MeasureNumbers,
    Planar,
    Prismatic,
    Revolute,
    Screw,
    Spherical,
    Universal,
    Weld,
)
from kane.model.loads import Damper, Force, Motor, PointDamper, PointSpring, Spring, Torque
from kane.model.model import Model
from kane.model.model_form import load_model, save_model
from kane.model.picture.picture import draw
from kane.model.shapes import (
    Box,
    Capsule,
    Cylinder,
    Disk,
    Ellipsoid,
    HeightField,
    Mesh,
    Plane,
    Polyhedron,
    Ring,
    Sphere,
)
from kane.model.wheel import Wheel
from kane.simulation.asked.events import Event, Occurrence
from kane.simulation.asked.inputs import Held, Interpolated
from kane.simulation.asked.sampled import Sampled
from kane.simulation.follow import follow
from kane.simulation.integrators import BDF, RK4, RK5, RK8, Gauss4, Midpoint
from kane.simulation.integrators.integrator import Integrator
from kane.simulation.modes.charts import Charts
from kane.simulation.recorded.followed_motion import FollowedMotion
from kane.simulation.recorded.trajectory import Trajectory
from kane.simulation.simulate import simulate
from kane.simulation.stepper import Stepper
from kane.viewer.draw3d import draw3d
from kane.viewer.view import View, view

__version__: str

__all__ = [
    "BDF",
    "LLVM",
    "RK4",
    "RK5",
    "RK8",
    "AngelesDH",
    "AngleRates",
    "Assembly",
    "AuxiliarySpeeds",
    "BestSpeeds",
    "Blocks",
    "Box",
    "CSource",
    "CallError",
    "Cam",
    "Candidate",
    "Capsule",
    "Certificate",
    "Charts",
    "Coincidence",
    "Combination",
    "CompileError",
    "Consistent",
    "Constraint",
    "Contact",
    "Coulomb",
    "CustomJoint",
    "Cylinder",
    "Cylindrical",
    "DHConvention",
    "DHLink",
    "Damper",
    "Derivatives",
    "Disk",
    "Distance",
    "Dynamics",
    "Ellipsoid",
    "Ensemble",
    "Equations",
    "Event",
    "Excitation",
    "ExpressionError",
    "FileError",
    "FollowedMotion",
    "Force",
    "FrameError",
    "Free",
    "Gauss4",
    "Gear",
    "Gimbal",
    "HeightField",
    "Held",
    "Identification",
    "ImportFileError",
    "ImportFileWarning",
    "Integrator",
    "Intermittent",
    "Interpolated",
    "JAXSource",
    "JavaScriptSource",
    "KaneError",
    "LaTeXDocument",
    "Linearization",
    "Listing",
    "MeasureNumbers",
    "Measurements",
    "Mesh",
    "Midpoint",
    "Mode",
    "ModeMotion",
    "Model",
    "ModelError",
    "ModifiedDH",
    "Motor",
    "Multipliers",
    "Newton",
    "NoSkid",
    "NumPySource",
    "Occurrence",
    "OrthogonalComplement",
    "Parallel",
    "Planar",
    "Plane",
    "PointDamper",
    "PointSpring",
    "Poisson",
    "Polyhedron",
    "PowerLedger",
    "Prescribed",
    "Prismatic",
    "Reactions",
    "RevealedReactions",
    "Revolute",
    "Ring",
    "Rolling",
    "RootLocus",
    "Rope",
    "Rotation",
    "Row",
    "Sampled",
    "Screw",
    "Sensitivities",
    "SimulationError",
    "Sliding",
    "Sphere",
    "Spherical",
    "Spring",
    "StandardDH",
    "Stepper",
    "TipOver",
    "Torque",
    "Trajectory",
    "TriedSpeeds",
    "Trim",
    "Undetermined",
    "Unidentifiable",
    "Universal",
    "UnknownNameError",
    "View",
    "Weld",
    "Wheel",
    "WheelForces",
    "__version__",
    "absolute",
    "acos",
    "asin",
    "assemble",
    "atan2",
    "best_speeds",
    "build",
    "certify",
    "compile_modes",
    "constrain",
    "cos",
    "decoupling_speeds",
    "draw",
    "draw3d",
    "equal",
    "evaluate",
    "example_robot",
    "excitation",
    "exp",
    "explicit",
    "export",
    "follow",
    "formulate",
    "from_dh",
    "haptics",
    "identify",
    "inertial_parameters",
    "inverse_kinematics",
    "lagrange",
    "library",
    "linearize",
    "load_equations",
    "load_mjcf",
    "load_model",
    "load_urdf",
    "log",
    "maximum",
    "minimum",
    "mode_motion",
    "path_tables",
    "power_ledger",
    "reveal_reactions",
    "root_locus",
    "save_equations",
    "save_model",
    "select",
    "sensitivities",
    "sign",
    "simulate",
    "simulate_many",
    "sin",
    "spline",
    "sqrt",
    "substitute",
    "tan",
    "tanh",
    "tip_over",
    "trim",
    "view",
    "wheel_forces",
]
