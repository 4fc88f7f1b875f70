"""One command on a toy document: python act.py FOLDER SEGMENT answer|read|close|open."""

import sys
from datetime import UTC, datetime

sys.path.insert(0, __file__.rpartition("/tests/")[0])

from council.kernel.document import Document
from council.kernel.errors import Refusal
from tests.kernel import toy

AT = datetime(2026, 11, 28, 9, tzinfo=UTC)


def document(folder, segment=1 << 20):
    made = Document(f"{folder}/.council/conversations/d", f"{folder}/d.md", toy, now=AT)
    made.segment = segment
    return made


def act(folder, segment, what):
    one = document(folder, segment)
    if what == "open":
        one.change(toy.opened("id1", "ann", "bob"), by="x", at=AT, create=True)
    elif what == "answer":
        one.change(toy.answer("ann", "SAID-ONCE"), op="answer-1", by="ann", at=AT)
    elif what == "close":
        one.close("id1")
    else:
        one.read()


if __name__ == "__main__":
    try:
        act(sys.argv[1], int(sys.argv[2]), sys.argv[3])
    except Refusal as refusal:
        print(refusal.code, refusal.message)
        sys.exit(refusal.exit_code + 40)
