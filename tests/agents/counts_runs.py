"""Appends a line to the file in its first argument when it starts and when it ends.

Each line is written at once, so that lines of many runs do not mix: the
instant, `+` or `-`, and the task. Between them it sleeps for the seconds in
its second argument. It answers `ok`.
"""

import os
import sys
import time

log = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
task = os.environ["COUNCIL_TASK_ID"]
os.write(log, f"{time.monotonic():.4f} + {task}\n".encode())
time.sleep(float(sys.argv[2]))
os.write(log, f"{time.monotonic():.4f} - {task}\n".encode())
print("ok")
