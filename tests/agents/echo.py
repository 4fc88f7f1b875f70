"""Answers with its prompt, byte for byte."""

import sys

sys.stdout.buffer.write(sys.stdin.buffer.read())
