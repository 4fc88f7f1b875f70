"""The least a program can be that writes a file for an agent: what `respond` is held against.

`python bare.py --as AGENT --file PATH` parses its options and replaces the
file `PATH.out` by the bytes of `PATH`, under a lock and durably.
"""

import argparse
import fcntl
import os


def main() -> None:
    """Write once."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--as", dest="agent", required=True)
    parser.add_argument("--file", required=True)
    options = parser.parse_args()
    with open(options.file, "rb") as file:
        data = file.read()
    target = f"{options.file}.out"
    lock = os.open(f"{options.file}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    descriptor = os.open(f"{target}.{options.agent}", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    os.write(descriptor, data)
    os.fsync(descriptor)
    os.close(descriptor)
    os.rename(f"{target}.{options.agent}", target)
    folder = os.open(os.path.dirname(target), os.O_RDONLY | os.O_DIRECTORY)
    os.fsync(folder)
    os.close(folder)
    os.close(lock)


if __name__ == "__main__":
    main()
