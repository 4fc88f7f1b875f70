"""Answers and ends at once, but leaves a child behind that holds its pipes.

The child keeps the FIFO in the first argument open for as long as it lives.
`--deaf` lets it ignore the polite signal to end.
"""

import os
import signal
import sys
import time

hears, tells = os.pipe()
if os.fork() == 0:
    if "--deaf" in sys.argv:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with open(sys.argv[1], "wb", buffering=0) as alive:
        alive.write(b"!")
        os.write(tells, b"!")
        time.sleep(60)
    os._exit(0)
os.read(hears, 1)
print("I am done.")
