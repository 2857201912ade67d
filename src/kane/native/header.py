"""The header with which the stage of every native function of constraints begins, as Python and native code read it.

Places in it hold 64-bit integers; lists follow: the columns of u, dependent ones first; the row of A of each residual
of the configuration; where in q each unit quaternion starts; the plan of ``kane.native.fronts``. Behind them lie the
stages of the programs called.
"""

from __future__ import annotations

# The programs called: the address of each in the first five places, where its stage starts in the next five. The last
# settles the configuration by the joints' own speeds; its address is zero where these are the generalized speeds.
CONSTRAINTS, CONFIGURATION, KINEMATICS, UNCONSTRAINED, OWN = range(5)
STAGES = 5
# How dependent speeds are chosen, whether all rows are linear in u, sizes, the number of the joints' own speeds, the
# rank of the choice, where in ``work`` the arrays lie, and the number of fronts, zero where loops are not taken apart.
MODE, LINEAR, ROWS, SPEEDS, COORDINATES, RESIDUALS, QUATERNIONS, OWN_SPEEDS, RANK, WORK, FRONTS = range(10, 21)
HEADER = 21
# Modes: chosen at each call; the choice in the header, made anew by settling; the choice in the header for good.
AFRESH, KEPT, FIXED = range(3)
# The rank while nothing has been chosen.
UNCHOSEN = -1
