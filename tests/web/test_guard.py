"""Who is let in: our names, our pages, the token or a session; and nothing without end."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from urllib.parse import urlencode

import pytest

from council.operations.place import open_place
from council.store.settings import Settings
from council.web import connections, guard
from council.web.sessions import Sessions
from council.web.starting import fresh_link
from tests.conftest import Council
from tests.web.raw import connected, exchanged, request, rest, status_of
from tests.web.serving import API, Reply, Served, serving

STATUS = f"{API}/status"
SAID = "Hurry up, all of you."
MOST = 2 * Settings().max_text_bytes + 64 * 1024
PROMISES = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


@pytest.fixture(scope="module")
def served(tmp_path_factory) -> Iterator[Served]:
    """One server for all of these: what is refused leaves nothing behind."""
    folder = tmp_path_factory.mktemp("guard")
    for name in ("workspace", "home"):
        (folder / name).mkdir()
    council = Council(folder / "workspace", folder / "home")
    assert council("init", "--agents", "owl,gecko").code == 0
    assert council("convene", "Shall we build it?", "--agents", "owl,gecko").code == 0
    with serving(council, folder) as found:
        yield found


def link_of(served: Served) -> str:
    """Return the path of a fresh link."""
    return fresh_link(open_place(str(served.council.root), "", {})).removeprefix(served.url)


def cookie_of(served: Served) -> str:
    """Return the cookie that a link gives."""
    return served.get(link_of(served), Authorization=None).headers["set-cookie"].partition(";")[0]


def statuses(served: Served, *headers: dict[str, str | None], path: str = STATUS) -> list[int]:
    return [served.get(path, **one).status for one in headers]


@pytest.mark.req("DL-066")
def test_only_our_own_names_are_answered(served):
    port = served.port
    known = [f"127.0.0.1:{port}", f"localhost:{port}", f"LOCALHOST:{port}"]
    names = [
        "evil.example",
        f"evil.example:{port}",
        "127.0.0.1",
        "localhost",
        f"localhost:{port + 1}",
    ]
    names += [
        f"localhost.:{port}",
        f"[::1]:{port}",
        f"127.0.0.1.nip.io:{port}",
        f"2130706433:{port}",
    ]
    names += [f"localhost:{port}@evil.example", f"localhost:{port},evil.example", ""]

    assert statuses(served, *({"Host": one} for one in known)) == [200] * len(known)
    assert statuses(served, *({"Host": one} for one in names)) == [403] * len(names)
    asked = request("GET /static/style.css HTTP/1.0", port, host="")
    assert status_of(exchanged(port, asked)) == 403


@pytest.mark.req("DL-066")
def test_no_page_from_elsewhere_may_ask(served):
    port = served.port
    ours = [f"http://127.0.0.1:{port}", f"http://localhost:{port}"]
    theirs = ["null", "http://evil.example", f"http://127.0.0.1:{port + 1}", "http://localhost"]
    theirs += [f"https://127.0.0.1:{port}", f"http://localhost:{port}.evil.example", "file://"]
    theirs += [f"http://localhost:{port}/"]
    cookie = {"Cookie": cookie_of(served), "Authorization": None}

    for who in ({}, cookie):
        assert statuses(served, *({**who, "Origin": one} for one in ours)) == [200, 200]
        assert statuses(served, *({**who, "Origin": one} for one in theirs)) == [403] * len(theirs)
    for site in ("cross-site", "same-site"):
        asked = {**cookie, "Sec_Fetch_Site": site}
        followed = {**asked, "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"}
        framed = {**followed, "Sec_Fetch_Dest": "iframe"}
        posted = {**followed, "Origin": "null"}
        assert statuses(served, asked, framed, posted, followed) == [403, 403, 403, 200]
        reply = served.ask("POST", STATUS, **followed)  # as an old browser, without an origin
        assert (reply.status, reply.json()["code"]) == (403, "refused")
    assert statuses(served, {**cookie, "Sec_Fetch_Site": "same-origin"}) == [200]


@pytest.mark.req("DG-132", "DG-131", "DL-066")
def test_without_the_token_or_a_session_nothing_is_served_but_the_style(served):
    token = served.token
    wrong = [
        None,
        "Bearer",
        "Bearer ",
        f"Bearer {token}x",
        f"Basic {token}",
        token,
        f"Bearer {token[:-1]}",
    ]
    for path in ("/", "/dirigent", "/openapi.json", "/docs", STATUS, f"{API}/events", "/nothing"):
        for one in wrong:
            reply = served.get(path, Authorization=one)
            assert (reply.status, reply.headers["www-authenticate"]) == (401, "Bearer")
            assert reply.json()["code"] == "unauthorized"
    assert statuses(served, {"Authorization": f"bearer  {token}"}, {}, path=STATUS) == [200, 200]
    assert statuses(served, {"Authorization": None}, path="/static/style.css") == [200]
    for path in (
        "/static/../api/council/status",
        "/static/%2e%2e/openapi.json",
        "/static//etc/passwd",
    ):
        assert served.get(path, Authorization=None).status == 400


@pytest.mark.req("DG-132")
def test_a_browser_without_a_session_gets_a_page_that_says_what_to_do(served):
    browser = {"Authorization": None, "Accept": "text/html,*/*;q=0.8"}
    reply = served.get("/rooms/a%22%3E%3Cb", **browser)
    assert reply.status == 401 and reply.headers["content-type"].startswith("text/html")
    assert "council serve --link" in reply.text and '<html lang="en">' in reply.text
    assert 'href="/rooms/a%22%3E%3Cb"' in reply.text
    assert 'lang="fr"' in served.get("/", **browser, Accept_Language="fr-FR,fr;q=0.9").text
    assert served.get(STATUS, **browser).headers["content-type"] == "application/problem+json"


@pytest.mark.req("DL-066")
def test_every_answer_keeps_a_browser_from_obeying_what_agents_wrote(served):
    anonymous = {"Authorization": None}
    replies = [
        served.get("/"),
        served.get(STATUS),
        served.get("/nothing"),
        served.get(STATUS, Host="x"),
    ]
    replies += [served.get("/", **anonymous), served.get("/", **anonymous, Accept="text/html")]
    replies += [served.post(f"{API}/councils", {"x": 1}), served.get("/static/style.css")]
    replies += [served.ask("POST", "/do/halt"), served.get(link_of(served), **anonymous)]
    for reply in replies:
        policy = reply.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; ") and "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy and "*" not in policy
        assert {name: reply.headers[name] for name in PROMISES} == PROMISES
        assert "server" not in reply.headers and "access-control-allow-origin" not in reply.headers
        assert reply.headers["cache-control"]


@pytest.mark.req("DL-066")
def test_a_link_opens_one_browser_once_and_leaves_the_address(served):
    anonymous = {"Authorization": None}
    link = link_of(served)
    assert served.ask("HEAD", link, **anonymous).status == 401  # one that only looks uses it not up
    assert served.post(link, **anonymous).status == 401
    reply = served.get(link + "&lang=fr", **anonymous)
    assert (reply.status, reply.headers["location"]) == (303, "/?lang=fr")
    kept = reply.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(kept.split("; "))
    cookie = kept.partition(";")[0]
    assert served.get("/", **anonymous, Cookie=cookie).status == 200

    assert served.get(link, **anonymous).status == 401  # it is used up
    assert served.get(link, **anonymous, Cookie=cookie).status == 303  # but one who is in goes on
    for word in (
        link[:-1] + ("A" if link[-1] != "A" else "B"),
        link.replace("link=", "link=x"),
        "/?link=",
    ):
        assert served.get(word, **anonymous).status == 401
    # A session is no link, and neither is the token.
    for word in (cookie.partition("=")[2], served.token):
        assert served.get(f"/?link={word}", **anonymous).status == 401


@pytest.mark.req("DL-066")
def test_a_link_that_a_foreign_page_led_to_goes_on_by_itself(served):
    led = {
        "Sec_Fetch_Site": "cross-site",
        "Sec_Fetch_Mode": "navigate",
        "Sec_Fetch_Dest": "document",
    }
    reply = served.get(link_of(served), Authorization=None, **led)
    assert (reply.status, reply.headers["refresh"]) == (200, "0;url=/")
    assert "set-cookie" in reply.headers


@pytest.mark.req("DL-066")
def test_no_link_leads_to_a_foreign_page(served):
    cookie = {"Authorization": None, "Cookie": cookie_of(served)}
    paths = ["//evil.example/", "/\\evil.example", "/%5Cevil.example", "/%2F/evil.example"]
    paths += ["/a/..//evil.example", "/%0d%0aSet-Cookie:x=1"]
    for path in paths:
        assert served.get(f"{path}?link=x", **cookie).status == 400
    for path in ("/rooms%3Fx", "/a%20b", "/%40evil.example"):
        assert (
            served.get(f"{path}?link=x&a=%0d%0ab", **cookie).headers["location"]
            == f"{path}?a=%0D%0Ab"
        )


@pytest.mark.req("DL-066")
def test_cookies_that_another_port_put_there_neither_open_nor_lock_anything(served):
    name, _, session = cookie_of(served).partition("=")
    assert name == f"council-{served.port}"  # servers of other workspaces keep theirs
    anonymous = {"Authorization": None}
    tossed = [
        f"{name}=x; {name}={session}",
        f"{name}={session}; {name}=x",
        f'{name}="x"; {name}={session}',
    ]
    assert statuses(served, *({**anonymous, "Cookie": one} for one in tossed)) == [200] * 3
    kind, ends, mac = session.split(".")
    forged = [f"{kind}.{int(ends) + 1}.{mac}", f"{kind}.{ends}.", "..", "", f"é.{ends}.{mac}"]
    forged += [link_of(served).partition("link=")[2], served.token]
    assert (
        statuses(served, *({**anonymous, "Cookie": f"{name}={one}"} for one in forged)) == [401] * 7
    )
    # Who says a wrong token is not saved by a cookie.
    assert served.get("/", Authorization="Bearer x", Cookie=f"{name}={session}").status == 401


def form_token(served: Served, cookie: str) -> str:
    page = served.get("/ask/stop?name=active", Authorization=None, Cookie=cookie)
    found = re.search(r'name="form_token" value="([^"]+)"', page.text)
    assert found, page.text
    return found[1]


def injected(served: Served) -> int:
    shown = json.loads(served.council("show", "--json").out)
    return json.dumps(shown).count(SAID)


@pytest.mark.req("DL-066")
def test_what_came_by_a_cookie_changes_something_only_with_the_token_of_a_form(served):
    cookie = cookie_of(served)
    by_cookie = {"Authorization": None, "Cookie": cookie, "Origin": served.url}
    path, said, before = f"{API}/councils/active/inject", {"message": SAID}, injected(served)

    def posted(kind: str, body: str, **headers: str | None) -> Reply:
        given = {**by_cookie, "Content_Type": kind, **headers}
        return served.ask("POST", path, body.encode(), **given)

    as_json, as_form = json.dumps(said), urlencode(said)
    token = Sessions(served.token, "").form_token(cookie.partition("=")[2])
    of_another = Sessions(served.token, "").form_token("")
    for word in ("", "x", of_another):
        for kind in ("application/json", "text/plain", "multipart/form-data; boundary=b"):
            reply = posted(kind, as_json, X_Form_Token=word)
            assert (reply.status, reply.json()["code"]) == (403, "forged")
        form = "application/x-www-form-urlencoded"
        assert posted(form, f"{as_form}&form_token={word}").status == 403
        assert posted(form, f"form_token={word}&" + "a=1&" * 2000).status == 403
    assert served.delete(f"{API}/councils/active", **by_cookie).status == 403
    assert posted("application/json", as_json, Origin=None).status == 403
    assert injected(served) == before
    # The right word counts in a form alone, and no header bears it.
    assert posted("application/json", as_json, X_Form_Token=token).status == 403
    assert injected(served) == before
    # By its form and its cookie, but behind a proxy that signs people on, by its form alone.
    assert served.ask("POST", "/do/halt", b"a=1").json()["code"] == "forged"


def test_the_token_in_our_forms_is_the_one_that_counts(served):
    cookie, before = cookie_of(served), injected(served)
    sent = {"name": "active", "message": SAID, "from": "/"}
    assert served.submit("/do/inject", cookie, **sent).status == 403
    token = form_token(served, cookie)
    assert served.submit("/do/inject", cookie, **sent, form_token=token).status == 303
    assert injected(served) > before


@pytest.mark.req("DL-066")
def test_what_a_run_shows_goes_to_its_command_and_opens_nothing_else(served):
    run = {"Authorization": "Bearer wrong", "Council_Task": "c/1/owl/1", "Council_Agent": "owl"}
    for path in ("/", "/openapi.json", f"{API}/events", f"{API}/councils/active/events"):
        assert served.get(path, **run).status == 403
    assert served.post("/do/halt", **run).status == 403
    # A token of the workspace beside the name of a run makes nobody a person.
    mine = {**run, "Authorization": f"Bearer {served.token}"}
    assert served.post(f"{API}/councils/active/stop", **mine).status in (401, 403)
    assert served.get(STATUS, **{**run, "Council_Task": "x" * 600}).status == 401


@pytest.mark.req("DL-066")
def test_a_body_is_bounded_said_or_chunked_and_refused_before_it_is_read(served):
    path = f"{API}/councils/active/inject"
    token = f"Authorization: Bearer {served.token}"
    said = request(f"POST {path} HTTP/1.1", served.port, token, f"Content-Length: {MOST + 1}")
    chunked = request(f"POST {path} HTTP/1.1", served.port, token, "Transfer-Encoding: chunked")
    chunk = b"10000\r\n" + b"a" * 0x10000 + b"\r\n"
    waits = request(
        f"POST {path} HTTP/1.1",
        served.port,
        token,
        "Expect: 100-continue",
        f"Content-Length: {10**9}",
    )
    assert status_of(exchanged(served.port, said, b"a" * (MOST + 1))) == 413
    assert status_of(exchanged(served.port, chunked, *[chunk] * (MOST // 0x10000 + 1))) == 413
    began = time.monotonic()
    answer = exchanged(served.port, waits)
    assert status_of(answer) == 413 and b"100 Continue" not in answer
    assert time.monotonic() - began < 1
    for told in ("Content-Length: 9", "Transfer-Encoding: chunked"):  # what is open reads none
        style = request("GET /static/style.css HTTP/1.1", served.port, told)
        assert status_of(exchanged(served.port, style)) == 405
    # One who shows nothing is refused before a byte of the body is asked for.
    unknown = request("POST / HTTP/1.1", served.port, "Expect: 100-continue", "Content-Length: 9")
    assert status_of(exchanged(served.port, unknown)) == 401
    assert served.get(STATUS).status == 200


@pytest.mark.req("DL-066")
def test_a_body_that_is_cut_off_does_nothing(served):
    before = injected(served)
    path, body = f"{API}/councils/active/inject", json.dumps({"message": SAID}).encode()
    told = ["Content-Type: application/json", f"Authorization: Bearer {served.token}"]
    for length, coding in ((len(body) + 1, "Content-Length"), (0, "Transfer-Encoding")):
        told_length = f"{coding}: {length or 'chunked'}"
        head = request(f"POST {path} HTTP/1.1", served.port, *told, told_length)
        sent = body if length else b"%x\r\n%b\r\n" % (len(body), body)
        with closing(connected(served.port)) as at:
            at.sendall(head + sent)
    assert served.get(STATUS).status == 200
    assert injected(served) == before


@pytest.mark.req("DL-066")
def test_requests_of_two_meanings_are_refused(served):
    port, logged = served.port, served.log.read_text()
    token = f"Authorization: Bearer {served.token}"
    twice = [["Host: localhost"], [f"Origin: {served.url}", "Origin: http://evil.example"]]
    twice += [["Authorization: Bearer x"], ["Content-Length: 0", "Content-Length: 1"]]
    twice += [["Content-Length: 3", "Transfer-Encoding: chunked"], ["Transfer-Encoding: xchunked"]]
    twice += [["Content-Length: +1"], ["Content-Length: 0x1"], ["Content-Length: -1"], ["X\x01: y"]]
    for headers in twice:
        answer = exchanged(
            port, request(f"POST {STATUS} HTTP/1.1", port, token, *headers) + b"0\r\n\r\n"
        )
        assert status_of(answer) in (400, 501), headers
        assert answer.count(b"HTTP/1.1 ") == 1
    lines = ["GET http://evil.example/ HTTP/1.1", "OPTIONS * HTTP/1.1", "CONNECT evil:443 HTTP/1.1"]
    lines += [
        "GET  / HTTP/1.1",
        "GET /\x7f HTTP/1.1",
        "get",
        "GET /a\\b HTTP/1.1",
    ]
    for line in lines:
        assert status_of(exchanged(port, request(line, port, token))) == 400, line
    garbage = request(f"POST {STATUS} HTTP/1.1", port, token, "Transfer-Encoding: chunked")
    for body in (b"zz\r\nhello\r\n0\r\n\r\n", b"-1\r\nhello\r\n0\r\n\r\n"):
        answer = exchanged(port, garbage + body)
        assert status_of(answer) == 400 and answer.count(b"HTTP/1.1 ") == 1
        head, _, problem = answer.partition(b"\r\n\r\n")
        assert b"content-type: application/problem+json" in head
        assert json.loads(problem)["code"] == "malformed"
    upgrade = [token, "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Key: x"]
    assert status_of(exchanged(port, request("GET / HTTP/1.1", port, *upgrade))) == 403
    assert [served.ask(one, STATUS).status for one in ("OPTIONS", "TRACE", "HEAD")] == [
        405,
        405,
        200,
    ]
    assert served.ask("HEAD", STATUS).body == b""
    long = exchanged(port, request(f"GET /{'a' * 40_000} HTTP/1.1", port, token))
    many = exchanged(port, request(f"GET {STATUS} HTTP/1.1", port, token, *["X-A: b" * 99] * 99))
    assert status_of(long) == status_of(many) == 431
    assert served.log.read_text() == logged  # none of it fills a log


@pytest.mark.req("DL-066")
def test_connections_beyond_a_bound_are_turned_away_and_the_others_served(served):
    most = connections.MOST_CONNECTIONS
    with ExitStack() as stack:
        opened = [stack.enter_context(closing(connected(served.port))) for _ in range(most + 50)]
        turned_away = rest(opened[-1])
        assert status_of(turned_away) == 503
        assert json.loads(turned_away.partition(b"\r\n\r\n")[2])["code"] == "full"
        opened[0].sendall(request("GET /static/style.css HTTP/1.1", served.port))
        assert status_of(rest(opened[0])) == 200
    assert served.get(STATUS).status == 200
    assert served.log.read_text() == ""


@pytest.mark.long
@pytest.mark.req("DL-066")
def test_what_says_nothing_or_trickles_in_is_closed_in_time(served):
    token = f"Authorization: Bearer {served.token}"
    whole = request(f"POST {STATUS} HTTP/1.1", served.port, token, "Content-Length: 99", body=b"{")
    after = request(f"GET {STATUS} HTTP/1.1", served.port, token).replace(
        b"Connection: close\r\n", b""
    )
    waited = {}
    for name, first in (("silent", b""), ("head", b"GET / HT"), ("body", whole), ("after", after)):
        with closing(connected(served.port)) as at:
            began = time.monotonic()
            at.sendall(first)
            at.settimeout(1)
            while time.monotonic() - began < 60:
                try:
                    if not at.recv(65536):
                        break
                except TimeoutError:
                    at.sendall(b"a" if name != "silent" else b"")  # bytes make it no younger
                except ConnectionResetError:
                    break
            waited[name] = time.monotonic() - began
    most = {
        "silent": connections.HEAD_S,
        "head": connections.HEAD_S,
        "body": guard.BODY_S,
        "after": 17,
    }
    assert {name: one < most[name] + 3 for name, one in waited.items()} == dict.fromkeys(most, True)


@pytest.mark.req("DL-066")
def test_no_secret_is_in_a_log_a_process_list_or_a_refusal(served):
    link, token, pid = link_of(served).partition("link=")[2], served.token, served.process.pid
    cookie = cookie_of(served)
    replies = [served.get(f"/?link={link}", Authorization=None), served.get(f"/{token}")]
    replies += [served.get("/", Authorization=None, Cookie=cookie + "x")]
    assert served.get(STATUS).status == 200
    argv = (Path(f"/proc/{one}/cmdline").read_text() for one in (pid, served.worker()))
    told = [*(one.text for one in replies), *argv, served.log.read_text()]
    for secret in (link, cookie.partition("=")[2]):
        assert not any(secret in one for one in told)
    assert not any(token in one for one in told[2:])
