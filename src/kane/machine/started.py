"""Time at which this process began to import kane, on the clock of files."""

import time

STARTED = time.time()
