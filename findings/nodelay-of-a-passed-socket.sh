#!/usr/bin/env bash
# uvicorn 0.54.0 on a socket that the caller made (`Server.serve(sockets=[...])`).
#
# Guess: every connection has TCP_NODELAY, as it has where uvicorn binds the port itself.
# Seen: only if the listening socket was made with the protocol IPPROTO_TCP. asyncio sets the option
# where `sock.proto` says so, accepted sockets inherit it, and `socket.socket(family)` leaves it 0.
# A response whose body follows its head in a second write then waits for the reader's delayed
# acknowledgement: some 40 ms for each request of a kept connection.
. "$(dirname "$0")/_setup.sh" uvicorn==0.54.0 h11==0.16.0

"$python" - <<'PY'
import asyncio, socket, sys
import uvicorn
import uvicorn.protocols.http.h11_impl

seen = []

async def app(scope, receive, send):
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})

class Protocol(uvicorn.protocols.http.h11_impl.H11Protocol):
    def connection_made(self, transport):
        sock = transport.get_extra_info("socket")
        seen.append(bool(sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)))
        super().connection_made(transport)

async def once(listener):
    listener.bind(("127.0.0.1", 0))
    config = uvicorn.Config(app, http=Protocol, lifespan="off", log_level="error")
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve(sockets=[listener]))
    while not server.started:
        await asyncio.sleep(0.01)
    reader, writer = await asyncio.open_connection(*listener.getsockname())
    writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    await reader.readuntil(b"\r\n\r\n")
    writer.close()
    server.should_exit = True
    await task

asyncio.run(once(socket.socket(socket.AF_INET)))
asyncio.run(once(socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)))
print("TCP_NODELAY, protocol left out:", seen[0])
print("TCP_NODELAY, protocol IPPROTO_TCP:", seen[1])
sys.exit(seen != [False, True])
PY
