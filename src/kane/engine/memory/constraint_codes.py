"""Numbers in the header of the constants of native functions of constraints; see ``memory.regions.HEADER``."""

from __future__ import annotations

# The programs called, in the order of their addresses. The last projects the configuration by the joints' own speeds;
# its address is zero if these are the generalized speeds.
CONSTRAINTS, CONFIGURATION, KINEMATICS, UNCONSTRAINED, OWN = range(5)
# How dependent speeds are selected: at each call; as the header says, and anew by projections; as the header says.
AFRESH, KEPT, FIXED = range(3)
# The rank before a selection was made.
UNCHOSEN = -1
