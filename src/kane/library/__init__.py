"""Reference models."""

from kane.library.angeles_arms import six_axis_arm as six_axis_arm
from kane.library.angeles_arms import stanford_arm_dh as stanford_arm_dh
from kane.library.chains import chain as chain
from kane.library.chains import n_link_pendulum as n_link_pendulum
from kane.library.random_tree import random_tree as random_tree
from kane.library.spacecraft_tree import spacecraft_tree as spacecraft_tree
from kane.library.stanford_arm import stanford_arm as stanford_arm
from kane.library.stanford_arm import stanford_arm_feedback as stanford_arm_feedback
from kane.library.wrist import wrist as wrist

__all__ = [
    "chain",
    "n_link_pendulum",
    "random_tree",
    "six_axis_arm",
    "spacecraft_tree",
    "stanford_arm",
    "stanford_arm_dh",
    "stanford_arm_feedback",
    "wrist",
]
