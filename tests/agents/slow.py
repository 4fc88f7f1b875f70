"""Sleeps for the seconds in its first argument (60), then answers.

`--ready PATH` writes one byte into a FIFO when it has started and keeps it
open, so that a process that reads it sees the byte, and the end when it is gone.
`--deaf` ignores the polite signal to end.
"""

import argparse
import signal
import time
from pathlib import Path

options = argparse.ArgumentParser()
options.add_argument("seconds", nargs="?", type=float, default=60)
options.add_argument("--ready", type=Path)
options.add_argument("--deaf", action="store_true")
given = options.parse_args()
if given.deaf:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
ready = given.ready.open("wb", buffering=0) if given.ready else None
if ready:
    ready.write(b"!")
time.sleep(given.seconds)
print("I have thought about it for a long time.")
