"""A worker of document 002: reads one message, answers as it was asked to, in the same version.

    works.py result "results=5"          S with that DATA
    works.py words "Some words."         the words, as a program prints them
    works.py asks "colour?" red,blue     C; once it is answered, S with the answer
    works.py hands W2 generate_tests     X and its notice; S once W2 has answered
    works.py fails E33 "file not found"  E
    works.py needs 150                   E17 below that budget, else S
    works.py sleeps 30                   nothing for so long
    works.py naps FILE 30                sleeps the first time, then S
    works.py exits 3                     ends with that code
    works.py prints "M1|…"               exactly that

Before all: `--log FILE` adds what it read to a file; `--pause SECONDS` waits before it
answers, `--until FILE` until that file is there.
"""

import os
import sys
import time

V5_SEGMENTS = 11


def main(arguments):
    line = sys.stdin.read().strip().splitlines()[-1]
    while arguments and arguments[0].startswith("--"):
        option, value, *arguments = arguments
        if option == "--log":
            add_line(value, line)
        elif option == "--until":
            wait_for(value)
        else:
            time.sleep(float(value))
    habit, *told = arguments
    sys.exit(HABITS[habit](line.split("|"), *told))


def add_line(path, line):
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(descriptor, line.encode() + b"\n")
    os.close(descriptor)


def reply(segments, kind, data, state, code="-", to="", deeper=0, budget=""):
    sender, me = segments[1].split(">")
    number = int(segments[0][1:]) + 1
    first = [f"M{number}", f"{me}>{to or sender}", kind, segments[3], segments[4], state, code]
    if len(segments) == V5_SEGMENTS:
        depth, context, left = segments[7:10]
        first += [str(int(depth) + deeper), context, budget or left]
    print("|".join([*first, data]))


def wait_for(path):
    while not os.path.exists(path):
        time.sleep(0.02)


def result(segments, data):
    reply(segments, "S", data, "D")


def words(_, text):
    print(text)


def asks(segments, question, options=""):
    if segments[2] == "C":
        return reply(segments, "S", f"result=with {segments[-1].partition('=')[2]}", "D")
    data = f"question={question}" + (f";options={options}" if options else "")
    return reply(segments, "C", data, "R")


def hands(segments, target, call):
    if segments[2] == "S":
        return reply(segments, "S", f"result=own part and {segments[-1]}", "D", to="O1", deeper=-1)
    if segments[2] == "E":
        return reply(segments, "S", f"result=own part;the other failed with {segments[6]}", "D")
    half = f"B{int(segments[9][1:]) // 2}" if segments[9] != "-" else "-"
    data = f"call={call};reason=specialised"
    reply(segments, "X", data, "R", to=target, deeper=1, budget=half)
    return reply(segments, "U", f"handoff={target};reason=specialised", "R")


def fails(segments, code, text):
    reply(segments, "E", f"desc={text}", "F", code)


def needs(segments, tokens):
    have = segments[9][1:]
    if int(have) < int(tokens):
        told = f"desc=budget insufficient;needed={tokens};have={have}"
        return reply(segments, "E", told, "F", "E17")
    return reply(segments, "S", "result=paid for", "D")


def sleeps(_, seconds):
    time.sleep(float(seconds))


def naps(segments, path, seconds):
    if not os.path.exists(path):
        add_line(path, "napping")
        time.sleep(float(seconds))
    return reply(segments, "S", f"result=awake for {segments[4]}", "D")


def exits(_, code):
    return int(code)


def prints(_, text):
    print(text)


HABITS = {
    one.__name__: one
    for one in (result, words, asks, hands, fails, needs, sleeps, naps, exits, prints)
}

if __name__ == "__main__":
    main(sys.argv[1:])
