"""Requests byte by byte, for what no client library would send."""

from __future__ import annotations

import socket
from contextlib import closing

WAIT_S = 60


def connected(port: int) -> socket.socket:
    """Return a connection to a server of this machine."""
    return socket.create_connection(("127.0.0.1", port), WAIT_S)


def exchanged(port: int, *parts: bytes) -> bytes:
    """Send bytes, then return all that comes until the server closes."""
    with closing(connected(port)) as at:
        for part in parts:
            at.sendall(part)
        return rest(at)


def rest(at: socket.socket) -> bytes:
    """Return all that comes until the server closes."""
    came = b""
    try:
        while part := at.recv(65536):
            came += part
    except ConnectionResetError:
        pass
    return came


def request(
    line: str, port: int, *headers: str, body: bytes = b"", host: str = "127.0.0.1"
) -> bytes:
    """Return a request after which the server closes."""
    told = [line, *([f"Host: {host}:{port}"] if host else []), "Connection: close", *headers]
    return "\r\n".join([*told, "", ""]).encode("latin-1") + body


def status_of(answer: bytes) -> int:
    """Return the status of an answer, 0 for none."""
    return int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/1.1 ") else 0
