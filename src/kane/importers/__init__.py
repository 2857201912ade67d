"""Models from files and tables of other programs."""

from kane.importers.dh.conventions import AngelesDH as AngelesDH
from kane.importers.dh.conventions import DHConvention as DHConvention
from kane.importers.dh.conventions import ModifiedDH as ModifiedDH
from kane.importers.dh.conventions import StandardDH as StandardDH
from kane.importers.dh.dh import DHLink as DHLink
from kane.importers.dh.dh import from_dh as from_dh
from kane.importers.example_robot_data import example_robot as example_robot
from kane.importers.mjcf.mjcf import load_mjcf as load_mjcf
from kane.importers.urdf.urdf import load_urdf as load_urdf
