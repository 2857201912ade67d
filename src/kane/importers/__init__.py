"""Models from files and tables of other programs."""

from kane.importers.urdf import load_urdf as load_urdf
