"""Prints the variable in its first argument in every way a program may, on both outputs."""

import os
import sys

secret = os.environ[sys.argv[1]]
middle = len(secret) // 2
for out in (sys.stdout, sys.stderr):
    print("key:", secret, file=out)
    print("wrapped:", secret[:middle], file=out)
    print("  ", secret[middle:], file=out, flush=True)
    out.write(secret[:middle])
    out.flush()
    print(secret[middle:], file=out, flush=True)
