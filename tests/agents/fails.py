"""Complains and ends with the exit code in its first argument (3)."""

import sys

print("half an answer")
print("the model is not available", file=sys.stderr)
sys.exit(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
