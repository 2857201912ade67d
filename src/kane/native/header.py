"""The header with which the stage of every native function of constraints begins, as Python and native code read it.

Places in it hold 64-bit integers; three lists follow: the columns of u, dependent ones first; the row of A of each
residual of the configuration; where in q each unit quaternion starts. Behind them lie the stages of the programs
called.
"""

from __future__ import annotations

# The programs called: the address of each in the first five places, where its stage starts in the next five. The last
# settles the configuration by the joints' own speeds; its address is zero where these are the generalized speeds.
CONSTRAINTS, CONFIGURATION, KINEMATICS, UNCONSTRAINED, OWN = range(5)
STAGES = 5
# How dependent speeds are chosen, whether all rows are linear in u, sizes, the number of the joints' own speeds, the
# rank of the choice and where in ``work`` the arrays lie.
MODE, LINEAR, ROWS, SPEEDS, COORDINATES, RESIDUALS, QUATERNIONS, OWN_SPEEDS, RANK, WORK = range(10, 20)
HEADER = 20
# Modes: chosen at each call; the choice in the header, made anew by settling; the choice in the header for good.
AFRESH, KEPT, FIXED = range(3)
# The rank while nothing has been chosen.
UNCHOSEN = -1
