"""Answers with `council respond` while it runs, as an agent with a shell does.

Arguments become options of `respond`, such as `--status agreed`.
"""

import os
import subprocess
import sys

prompt = sys.stdin.read()
text = (
    f"I am {os.environ['COUNCIL_AGENT']}, this is round {os.environ['COUNCIL_TOUR']}, "
    f"{os.environ['COUNCIL_PHASE']}. I was told {len(prompt)} characters.\n"
)
done = subprocess.run(
    [sys.executable, "-m", "council", "respond", "-", *sys.argv[1:]],
    input=text.encode(),
    check=False,
)
sys.exit(done.returncode)
