"""Enumeration of the Taylor series along the path of an impact: rows of ``Impact.series``.

The slip velocity is E r with the direction r = (x, y), along the path parameter s; see ``laws.impact``.
"""

from __future__ import annotations

X = 0  # x
Y = 1  # y
SPEED = 2  # E
SLIP_X = 3  # E x
SLIP_Y = 4  # E y
ALONG = 5  # r . g
ACROSS = 6  # n . g
XX = 7  # x x
XY = 8  # x y
TURN_X = 9  # -(n . g) y
TURN_Y = 10  # (n . g) x
SPEED_GROWTH = 11  # (r . g) E
NORMAL_INTEGRAL = 12  # integral of E over s, divided by s
RUBBED_X = 13  # integral of E x over s, divided by s
RUBBED_Y = 14  # integral of E y over s, divided by s
DEPARTURE = 15  # v_n; this and the next row are written for Stronge's law only
WORK = 16  # integral of v_n E over s, divided by s
