"""Reference models."""

from kane.library.chains import chain as chain
from kane.library.chains import n_link_pendulum as n_link_pendulum
from kane.library.random_tree import random_tree as random_tree
from kane.library.stanford_arm import stanford_arm as stanford_arm
from kane.library.stanford_arm import stanford_arm_feedback as stanford_arm_feedback

__all__ = ["chain", "n_link_pendulum", "random_tree", "stanford_arm", "stanford_arm_feedback"]
