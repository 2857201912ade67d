"""Joints: one abstract class (``joint.Joint``), one file per kind."""

from typing import TYPE_CHECKING

from kane.deferred import exporting

__getattr__, __dir__ = exporting(__name__)

if TYPE_CHECKING:
    from kane.model.joints.custom import CustomJoint as CustomJoint
    from kane.model.joints.cylindrical import Cylindrical as Cylindrical
    from kane.model.joints.free import Free as Free
    from kane.model.joints.gimbal.gimbal import Gimbal as Gimbal
    from kane.model.joints.gimbal.gimbal_speeds import AngleRates as AngleRates
    from kane.model.joints.joint import Joint as Joint
    from kane.model.joints.joint import JointMotion as JointMotion
    from kane.model.joints.measure_numbers import MeasureNumbers as MeasureNumbers
    from kane.model.joints.planar import Planar as Planar
    from kane.model.joints.prismatic import Prismatic as Prismatic
    from kane.model.joints.rate_joint import RateJoint as RateJoint
    from kane.model.joints.revolute import Revolute as Revolute
    from kane.model.joints.screw import Screw as Screw
    from kane.model.joints.spherical import Spherical as Spherical
    from kane.model.joints.universal import Universal as Universal
    from kane.model.joints.weld import Weld as Weld
