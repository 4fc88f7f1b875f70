"""Answers with its environment, open files, folder and session, as JSON."""

import json
import os

print(
    json.dumps(
        {
            "environment": dict(os.environ),
            "files": sorted(int(name) for name in os.listdir("/dev/fd"))[:-1],
            "folder": os.getcwd(),
            "leads_session": os.getsid(0) == os.getpid(),
        }
    )
)
