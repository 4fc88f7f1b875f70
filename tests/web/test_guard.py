"""Who is let in, and what every response carries."""

import asyncio

import pytest
from starlette.testclient import TestClient

from tests.web.conftest import HOST, TOKEN

STATUS, KEY = "/api/council/status", {"Authorization": f"Bearer {TOKEN}"}
ROWS = [  # method, path, headers, status, code
    ("GET", STATUS, {}, 401, "unauthorized"),
    ("GET", STATUS, {"Authorization": "Bearer x"}, 401, "unauthorized"),
    ("GET", STATUS, {"Authorization": f"Basic {TOKEN}"}, 401, "unauthorized"),
    ("GET", STATUS, {"Authorization": f"bearer {TOKEN}"}, 200, ""),
    ("GET", STATUS, {"Cookie": "council-8420=x"}, 401, "unauthorized"),
    ("GET", STATUS, {"Host": "evil.example:8420"}, 403, "unknown-host"),
    ("GET", STATUS, {"Host": "localhost:8421"}, 403, "unknown-host"),
    ("GET", STATUS, {**KEY, "Host": "localhost:8420"}, 200, ""),
    ("GET", STATUS, {"Origin": "https://evil.example"}, 403, "foreign-origin"),
    ("GET", STATUS, {"Origin": "null"}, 403, "foreign-origin"),
    ("GET", "/openapi.json", {}, 401, "unauthorized"),
    ("POST", STATUS, {**KEY, "Origin": "http://127.0.0.1:3000"}, 403, "foreign-origin"),
    ("POST", "/api/council/debates", {"Content-Length": "9999999"}, 413, "too-long"),
    ("GET", STATUS, {**KEY, "Council-Person": "A b"}, 400, "malformed"),
    ("PUT", STATUS, KEY, 405, "method-not-allowed"),
    ("GET", "/api/x", KEY, 404, "not-found"),
]


@pytest.mark.parametrize(("method", "path", "headers", "status", "code"), ROWS)
def test_who_is_let_in(served, method, path, headers, status, code) -> None:
    got = served.client(**headers).request(method, path)
    assert got.status_code == status
    assert got.headers["cache-control"] == "no-store"
    assert got.headers["x-content-type-options"] == "nosniff"
    assert "default-src 'none'" in got.headers["content-security-policy"]
    if code:
        assert got.headers["content-type"] == "application/problem+json"
        assert got.json()["code"] == code
    if status == 405:
        assert got.headers["allow"] == "GET"


def asked(served, method: str, path: str, query: str = "", **headers: str) -> tuple:
    """Return status, headers and how often the body was asked for, without a client."""
    read, sent = [], []

    async def receive() -> dict:
        read.append(1)
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict) -> None:
        sent.append(message)

    told = [(key.encode(), one.encode()) for key, one in headers.items()]
    scope = {"type": "http", "method": method, "path": path, "query_string": query.encode()}
    scope["headers"] = [(b"host", b"127.0.0.1:8420"), *told]
    asyncio.run(served.guard(scope, receive, send))
    return sent[0]["status"], {k.decode(): v.decode() for k, v in sent[0]["headers"]}, len(read)


def test_no_body_of_a_stranger_is_read_and_none_is_read_without_end(served) -> None:
    status, headers, read = asked(served, "POST", "/api/council/debates", expect="100-continue")
    assert (status, headers["connection"], read) == (401, "close", 0)
    for path in ("/api/council/debates", "/rooms/den/messages"):
        pieces = (b"x" * 65536 for _ in range(40))
        headers = {"Origin": HOST, "Content-Type": "application/x-www-form-urlencoded"}
        assert served.program.post(path, content=pieces, headers=headers).status_code == 413


def test_a_link_opens_one_session(served) -> None:
    link = served.keys.link
    assert asked(served, "GET", "/", "link=x")[0] == 401
    status, headers, _ = asked(served, "GET", "//evil.example/", f"link={link}&a=b")
    assert (status, headers["location"]) == (303, "/evil.example/?a=b")
    cookie = headers["set-cookie"]
    assert all(word in cookie for word in ("HttpOnly", "SameSite=lax", "Path=/"))
    assert served.client(Cookie=cookie.partition(";")[0]).get(STATUS).status_code == 200
    assert asked(served, "GET", "/", f"link={link}")[0] == 401


@pytest.mark.parametrize("path", ["/api/council/debates", "/anything"])
def test_what_a_browser_sends_has_to_come_from_one_of_our_pages(served, path) -> None:
    browser = served.client(Cookie=f"council-8420={served.keys.session}")
    for headers in ({}, {"Sec-Fetch-Site": "same-site"}, {"Sec-Fetch-Site": "none"}):
        assert browser.post(path, data={}, headers=headers).json()["code"] == "forged"
    for headers in ({"Origin": HOST}, {"Sec-Fetch-Site": "same-origin"}):
        assert browser.post(path, data={}, headers=headers).status_code in (404, 422)
    # A proxy signs people in with the token of the workspace.
    assert served.program.post("/anything").json()["code"] == "forged"


def test_an_error_of_our_own_is_a_problem_and_its_details_are_kept(served) -> None:
    served.guard.app.get("/api/broken")(lambda: 1 / 0)
    client = TestClient(served.guard, HOST, headers=KEY, raise_server_exceptions=False)
    got = client.get("/api/broken")
    assert (got.status_code, got.json()["code"]) == (500, "unexpected")
    with open(f"{served.app.state_folder}/errors.log", encoding="utf-8") as file:
        assert "ZeroDivisionError" in file.read()
