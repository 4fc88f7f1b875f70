#!/usr/bin/env bash
# pydantic-ai-slim 2.68.0 with rich 15.0.0: `clai` (here by its other name, `pai`), asked once with
# its output in a pipe, as by whoever starts agent programs.
#
# Guess: in a pipe comes what the model wrote, as Markdown. Only a terminal gets it drawn.
# Seen: it is drawn for a terminal of 80 columns here, too. Line 1 names the program; code marks,
# fences and what stands in angle brackets are gone; long lines are cut, so JSON has a line break
# within a text and is no JSON any more. `--no-stream` changes nothing, and no option does.
# A large COLUMNS saves the lines, nothing else.
#
# Council reads such an answer (headings stay, bullets are known), but what was not printed it
# cannot know. An agent of pydantic-ai is better started by three lines that print its output.
. "$(dirname "$0")/_setup.sh" "pydantic-ai-slim[cli]==2.68.0" rich==15.0.0

cat > "$folder/kettle.py" <<'PY'
import json
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel

why = "Two of us wait each morning for the only kettle, and the budget is large enough."
prose = Agent(TestModel(custom_output_text="Make `x` a List<String>:\n\n```diff\n+two\n```\n"))
data = Agent(TestModel(custom_output_text=json.dumps({"position": why, "status": "AGREED"})))
PY
cd "$folder"
HOME="$folder" "$python" - <<'PY'
import json, os, subprocess, sys
sys.path.insert(0, ".")
from kettle import data, prose

def printed(name, *options, **more):
    command = ["env/bin/pai", "-a", f"kettle:{name}", *options, "kettle?"]
    known = {key: os.environ[key] for key in ("HOME", "PATH")}
    made = subprocess.run(
        command, env={**known, "PYTHONPATH": ".", **more}, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True, timeout=60,
    )
    banner, _, rest = made.stdout.partition("\n")
    return "Pydantic AI CLI" in banner, [line.strip() for line in rest.splitlines()]

def is_json(text):
    try:
        return bool(json.loads(text))
    except ValueError:
        return False

seen = {}
for options in ((), ("--no-stream",)):
    has_banner, lines = printed("prose", *options)
    print("pai 2.68.0", *options, "| asked:", repr(prose.model.custom_output_text), "| got:", lines)
    seen[options] = has_banner, [line for line in lines if line]
for columns in (None, "1000"):
    lines = printed("data", **{"COLUMNS": columns} if columns else {})[1]
    seen[columns] = is_json("\n".join(lines))
    print(f"COLUMNS {columns}: {len(lines)} lines, JSON: {seen[columns]}")
drawn = True, ["Make x a List:", "diff", "+two", "/diff"]
sys.exit(seen != {(): drawn, ("--no-stream",): drawn, None: False, "1000": True})
PY
