"""Reads its prompt and says nothing."""

import sys

sys.stdin.buffer.read()
