"""Joints: one contract (``joint.Joint``), one file per kind."""

from kane.model.joints.free import Free as Free
from kane.model.joints.prismatic import Prismatic as Prismatic
from kane.model.joints.revolute import Revolute as Revolute
from kane.model.joints.spherical import Spherical as Spherical
from kane.model.joints.weld import Weld as Weld
