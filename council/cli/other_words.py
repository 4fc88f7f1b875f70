"""What people type who look for a command by another name, and the command that does it.

A row is a word and what to type in its place, without `council`. Words that are commands, or
nearly so, stand in the table of commands; Typer finds those.

Source: FW-006.
"""

from __future__ import annotations

from council.commands.options import names

_NEAR = 0.75

OTHER_WORDS = """
search    list --archived --search WORDS
find      list --archived --search WORDS
grep      list --archived --search WORDS
minutes   list --archived
archived  list --archived
decisions list --archived
results   list --archived
agents    agent list
members   agent list
who       agent list
people    agent list
rooms     channel list
room      channel list
channels  channel list
groups    agent group list
artifacts artifact list
tasks     task list
messages  msg log
log       events tail
logs      events tail
story     events story NAME
ls        list
open      list
councils  list
conversations list
cat       show
read      show
view      show
export    show --format html
html      show --format html
ps        status
top       status --watch
problems  status --problems
errors    status --problems
why       explain
debug     explain
new       ask TOPIC
start     ask TOPIC
run       ask TOPIC
create    convene TOPIC
question  ask TOPIC
rehearse  ask --rehearse TOPIC
rehearsal ask --rehearse TOPIC
try       ask --rehearse TOPIC
example   demo
tutorial  demo
continue  ask --resume
answer    respond
reply     respond
post      say
send      say
tell      say
kill      cancel
abort     cancel
end       archive
finish    archive
close     archive
delete    purge NAME
remove    purge NAME
rm        purge NAME
forget    purge NAME
clean     gc --dry-run
undo      restore REV
revert    restore REV
config    doctor
settings  doctor
check-up  doctor
test      doctor --probe
probe     doctor --probe
fix       doctor --repair
repair    doctor --repair
add       agent add ID
install   integrate
setup     init
cost      metrics
costs     metrics
usage     metrics
stats     metrics
beat      heartbeat
tick      heartbeat
cron      schedule --cron
clock     schedule
timer     schedule
server    serve
web       serve
page      serve
ui        serve
version   --version
"""


def meant_by(word: str) -> str:
    """Return what to type in the place of a word that is no command, "" where that is not known."""
    from difflib import get_close_matches

    rows = dict(row.split(maxsplit=1) for row in OTHER_WORDS.strip().splitlines())
    near = get_close_matches(word.lower(), [*rows, *names("")], n=1, cutoff=_NEAR)
    meant = rows.get(near[0], near[0]) if near else ""
    return f"council {meant}" if meant else ""
