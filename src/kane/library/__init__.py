"""Reference models."""

from kane.library.andrews_squeezer import andrews_squeezer as andrews_squeezer
from kane.library.angeles_arms import six_axis_arm as six_axis_arm
from kane.library.angeles_arms import stanford_arm_dh as stanford_arm_dh
from kane.library.bricard import bricard as bricard
from kane.library.chains import chain as chain
from kane.library.chains import n_link_pendulum as n_link_pendulum
from kane.library.chains import n_link_pendulum_to_vertical as n_link_pendulum_to_vertical
from kane.library.chaplygin_sleigh import chaplygin_sleigh as chaplygin_sleigh
from kane.library.flyball_governor import flyball_governor as flyball_governor
from kane.library.flyball_governor import stiff_flyball_governor as stiff_flyball_governor
from kane.library.four_bar import four_bar as four_bar
from kane.library.four_bar import n_four_bar as n_four_bar
from kane.library.mobile_manipulator import lock_steering as lock_steering
from kane.library.mobile_manipulator import mobile_manipulator as mobile_manipulator
from kane.library.mobile_manipulator import platform_wheels as platform_wheels
from kane.library.mobile_manipulator import tanner_speeds as tanner_speeds
from kane.library.random_tree import random_tree as random_tree
from kane.library.rolling_coin import rolling_coin as rolling_coin
from kane.library.rolling_disk import rolling_disk as rolling_disk
from kane.library.rolling_disk import sliding_disk as sliding_disk
from kane.library.shopping_cart import shopping_cart as shopping_cart
from kane.library.shopping_cart import stuck_shopping_cart as stuck_shopping_cart
from kane.library.slider_crank import slider_crank as slider_crank
from kane.library.spacecraft_tree import spacecraft_tree as spacecraft_tree
from kane.library.stanford_arm import stanford_arm as stanford_arm
from kane.library.stanford_arm import stanford_arm_feedback as stanford_arm_feedback
from kane.library.stewart_platform import stewart_platform as stewart_platform
from kane.library.whipple_bicycle import whipple_bicycle as whipple_bicycle
from kane.library.wrist import wrist as wrist
from kane.library.wrist import wrist_measure_numbers as wrist_measure_numbers

__all__ = [
    "andrews_squeezer",
    "bricard",
    "chain",
    "chaplygin_sleigh",
    "flyball_governor",
    "four_bar",
    "lock_steering",
    "mobile_manipulator",
    "n_four_bar",
    "n_link_pendulum",
    "n_link_pendulum_to_vertical",
    "platform_wheels",
    "random_tree",
    "rolling_coin",
    "rolling_disk",
    "shopping_cart",
    "six_axis_arm",
    "slider_crank",
    "sliding_disk",
    "spacecraft_tree",
    "stanford_arm",
    "stanford_arm_dh",
    "stanford_arm_feedback",
    "stewart_platform",
    "stiff_flyball_governor",
    "stuck_shopping_cart",
    "tanner_speeds",
    "whipple_bicycle",
    "wrist",
    "wrist_measure_numbers",
]
