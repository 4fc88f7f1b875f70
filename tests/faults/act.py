"""Commands on a toy document: python act.py FOLDER SEGMENT answer|read|close|open|NOTE …"""

import sys

sys.path.insert(0, __file__.rpartition("/tests/")[0])

from council.kernel.errors import Refusal
from tests.kernel import toy
from tests.kernel.toy import AT, document

ACT = __file__


def act(folder, segment, what):
    one = document(folder, segment=segment)
    if what == "open":
        one.change(toy.opened("id1", "ann", "bob"), by="x", at=AT, create=True)
    elif what == "answer":
        one.change(toy.answer("ann", "SAID-ONCE"), op="answer-1", by="ann", at=AT)
    elif what == "close":
        one.close("id1")
    elif what == "read":
        one.read()
    else:
        one.change(toy.note(what), by="x", at=AT)


if __name__ == "__main__":
    try:
        for what in sys.argv[3:]:
            act(sys.argv[1], int(sys.argv[2]), what)
    except Refusal as refusal:
        print(refusal.code, refusal.message)
        sys.exit(refusal.exit_code + 40)
