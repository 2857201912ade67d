"""What a device says and is told: the layout of samples and of the arguments of its two programs.

A device is two programs of the one convention, so that the loop calls it by addresses, without Python:

    read:  state = [t],                     out = a sample   (no new one: the last one again)
    write: state = [t, force, torque],      the force on the hand in ground axes [N], [N m]

with rest = its table (what it is given once), stage = its settings, work = its memory, which is its own.
"""

# Places in a sample: its number, which grows with each new one; when it was measured [s], on the clock of the loop; the
# position of the handle [m]; its orientation, a unit quaternion (w, x, y, z); its buttons as bits of a whole number.
SEQUENCE, MEASURED, POSITION, ORIENTATION, BUTTONS = 0, 1, 2, 5, 9
SAMPLE = 10
# Places in what is written.
WRITTEN, FORCE, TORQUE = 0, 1, 4
COMMAND = 7
