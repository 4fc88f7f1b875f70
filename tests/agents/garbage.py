"""Answers with bytes that are no text."""

import sys

sys.stdout.buffer.write(b"good so far \xff\xfe\x80 and no further\n")
