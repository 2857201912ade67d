"""Reference models."""

from kane.library.andrews_squeezer import andrews_squeezer as andrews_squeezer
from kane.library.angeles_arms import six_axis_arm as six_axis_arm
from kane.library.angeles_arms import stanford_arm_dh as stanford_arm_dh
from kane.library.bricard import bricard as bricard
from kane.library.chains import chain as chain
from kane.library.chains import n_link_pendulum as n_link_pendulum
from kane.library.flyball_governor import flyball_governor as flyball_governor
from kane.library.flyball_governor import stiff_flyball_governor as stiff_flyball_governor
from kane.library.four_bar import four_bar as four_bar
from kane.library.four_bar import n_four_bar as n_four_bar
from kane.library.random_tree import random_tree as random_tree
from kane.library.slider_crank import slider_crank as slider_crank
from kane.library.spacecraft_tree import spacecraft_tree as spacecraft_tree
from kane.library.stanford_arm import stanford_arm as stanford_arm
from kane.library.stanford_arm import stanford_arm_feedback as stanford_arm_feedback
from kane.library.stewart_platform import stewart_platform as stewart_platform
from kane.library.wrist import wrist as wrist

__all__ = [
    "andrews_squeezer",
    "bricard",
    "chain",
    "flyball_governor",
    "four_bar",
    "n_four_bar",
    "n_link_pendulum",
    "random_tree",
    "six_axis_arm",
    "slider_crank",
    "spacecraft_tree",
    "stanford_arm",
    "stanford_arm_dh",
    "stanford_arm_feedback",
    "stewart_platform",
    "stiff_flyball_governor",
    "wrist",
]
