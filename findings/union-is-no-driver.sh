#!/usr/bin/env bash
# dulwich 1.2.21 (git in Python) with merge3, and the merge attributes of `.gitattributes`.
#
# One would expect: since it runs merge drivers that the configuration names, it knows those that
# every git has. `merge=union` is the usual line for logs to which several write.
# Seen: a driver of one's own is run, `union` is not. The log gets conflict markers, which are no
# JSON lines, and so does a file with `-merge`, of which git leaves our side as it is.
#
# Council's journals are in no repository. A page with such markers costs no answer: what cannot be
# read is kept in `conflicts/` and reported.
. "$(dirname "$0")/_setup.sh" dulwich==1.2.21 merge3==1.0.0

command -v git >/dev/null || { echo "git is missing"; exit 1; }
export HOME="$folder" GIT_CONFIG_NOSYSTEM=1
"$python" - "$folder" <<'PY'
import os, shutil, subprocess, sys
from dulwich import porcelain

folder = sys.argv[1]
ours, other = f"{folder}/ours", f"{folder}/other"
os.mkdir(ours)
repo = porcelain.init(ours)
config = repo.get_config()
config.set((b"merge", b"own"), b"driver", b"echo own > %A")
config.write_to_path()
who = {"author": b"A <a@example.org>", "committer": b"A <a@example.org>"}

def commit(files):
    for name, text in files.items():
        with open(f"{ours}/{name}", "w") as file:
            file.write(text)
        porcelain.add(repo, [f"{ours}/{name}"])
    porcelain.commit(repo, message=b"change", **who)

names = ("log", "image", "mine")
commit({".gitattributes": "log merge=union\nimage -merge\nmine merge=own\n"})
commit(dict.fromkeys(names, "1\n"))
main = porcelain.active_branch(repo).decode()
porcelain.branch_create(repo, "side")
commit(dict.fromkeys(names, "1\n2\n"))
porcelain.checkout(repo, "side")
commit(dict.fromkeys(names, "1\n3\n"))
porcelain.checkout(repo, main)
shutil.copytree(ours, other)
porcelain.merge(repo, "side", **who)
git = ["git", "-C", other, "-c", "user.name=A", "-c", "user.email=a@example.org"]
subprocess.run([*git, "merge", "side"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

seen = {}
for tool, where in (("git", other), ("dulwich 1.2.21", ours)):
    texts = [open(f"{where}/{name}").read() for name in names]
    seen[tool] = ["markers" if "<<<<<<<" in text else text for text in texts]
    print(f"{tool}: union {seen[tool][0]!r}, -merge {seen[tool][1]!r}, own {seen[tool][2]!r}")
expected = [["1\n2\n3\n", "1\n2\n", "own\n"], ["markers", "markers", "own\n"]]
sys.exit([*seen.values()] != expected)
PY
