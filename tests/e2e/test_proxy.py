"""The recipes of docs/web.md for a proxy with sign-on, word for word but for their addresses."""

from __future__ import annotations

import base64
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest

from tests.conftest import Council
from tests.operations.tables import until
from tests.web.serving import API, Reply, Served, serving

PAGE = Path(__file__).parents[2] / "docs" / "web.md"
NAME = "council.example.org"
ORIGIN = f"https://{NAME}"
BASIC = "Basic " + base64.b64encode(b"anna:tea at five").decode()


def recipe(kind: str) -> str:
    """Return the settings that the page shows for a proxy."""
    return re.search(rf"```{kind}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[1]


def replaced(text: str, *pairs: tuple[str, str]) -> str:
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new)
    return text


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return found.getsockname()[1]


def caddy(folder: Path, served: Served, port: int) -> tuple[list[str], dict[str, str]]:
    words = ["caddy", "hash-password", "--plaintext", "tea at five"]
    hashed = subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
    told = replaced(
        recipe("caddy"),
        (f"{NAME} {{", f"http://{NAME}:{port} {{\n\tbind 127.0.0.1"),
        ("$2a$14$HASH", hashed),
        ("127.0.0.1:8420", f"127.0.0.1:{served.port}"),
    )
    path = folder / "Caddyfile"
    path.write_text("{\n\tadmin off\n\tauto_https off\n}\n" + told)
    run = ["caddy", "run", "--adapter", "caddyfile", "--config", str(path)]
    return run, {"COUNCIL_WEB_TOKEN": served.token, "HOME": str(folder)}


def nginx(folder: Path, served: Served, port: int) -> tuple[list[str], dict[str, str]]:
    (folder / "users").write_text("anna:{PLAIN}tea at five\n")
    (folder / "token").write_text(f'proxy_set_header Authorization "Bearer {served.token}";\n')
    told = replaced(
        re.sub(r" *ssl_.*\n", "", recipe("nginx")),
        ("listen 443 ssl;", f"listen 127.0.0.1:{port};"),
        ("/etc/nginx/council-users", f"{folder}/users"),
        ("/etc/nginx/council-token.conf", f"{folder}/token"),
        ("127.0.0.1:8420", f"127.0.0.1:{served.port}"),
    )
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    paths = "\n".join(f"{one}_temp_path {folder}/{one};" for one in kinds)
    head = f"daemon off;\nmaster_process off;\npid {folder}/pid;\nerror_log {folder}/error.log;\n"
    path = folder / "nginx.conf"
    path.write_text(f"{head}events {{}}\nhttp {{\naccess_log off;\n{paths}\n{told}}}\n")
    return ["nginx", "-c", str(path), "-e", f"{folder}/error.log"], {}


@pytest.fixture(params=[caddy, nginx], ids=["caddy", "nginx"])
def through(request, council: Council, tmp_path: Path) -> Iterator[tuple[Served, Served]]:
    """A server, and the proxy in front of it as if it were one."""
    program = shutil.which(request.param.__name__, path="/usr/sbin:/usr/bin:/usr/local/bin")
    if program is None:
        pytest.skip(f"{request.param.__name__} is not installed")
    council("init", "--agents", "owl,gecko")
    council("convene", "Shall we build it?", "--agents", "owl,gecko")
    (council.root / "council.toml").write_text(f'[serve]\norigins = ["{ORIGIN}"]\n')
    with serving(council, tmp_path) as served:
        front = Served(council, tmp_path / "none")
        front.port = free_port()
        argv, environ = request.param(tmp_path, served, front.port)
        with (tmp_path / "proxy.log").open("wb") as log:
            proxy = subprocess.Popen(
                [program, *argv[1:]], stderr=log, stdout=log, env=council.env(env=environ)
            )
        try:
            until(lambda: answers(front.port), (tmp_path / "proxy.log").read_text())
            yield served, front
        finally:
            front.end()
            proxy.terminate()
            proxy.wait()


def answers(port: int) -> bool:
    with socket.socket() as asked:
        return asked.connect_ex(("127.0.0.1", port)) == 0


def ask(front: Served, path: str, method: str = "GET", body: str = "", **headers: str) -> Reply:
    given = {"Host": NAME, "Authorization": BASIC, **headers}
    return front.ask(method, path, body.encode() or None, **given)


@pytest.mark.e2e
@pytest.mark.req("DL-066", "DG-132")
def test_a_proxy_that_signs_people_on_shows_the_pages_under_its_own_name(through):
    served, front = through

    refused = ask(front, "/", Authorization=None)
    assert refused.status == 401 and refused.headers["www-authenticate"].startswith("Basic")
    # The token is for the proxy to give: one that comes from outside counts for nothing.
    assert ask(front, "/", Authorization=f"Bearer {served.token}").status == 401
    assert ask(front, "/", Authorization="Basic eDp5").status == 401

    page = ask(front, "/")
    assert page.status == 200 and page.headers["content-type"].startswith("text/html")
    assert served.token not in page.text + str(page.headers)
    assert ask(front, f"{API}/status").json()["conversations"]
    assert ask(front, "/static/style.css").status == 200
    for name in (f"127.0.0.1:{served.port}", "evil.example"):
        other = ask(front, "/", Host=name)
        assert other.status == 403 or not other.body, other  # caddy has no such site

    # A form of the page, posted as its browser does, under the name of who signed on.
    asks = ask(front, "/ask/stop?name=active")
    token = re.search(r'name="form_token" value="([^"]+)"', asks.text)[1]
    form = {"name": "active", "message": "Hurry up, all of you.", "from": "/", "then": "/"}
    kind = {"Content_Type": "application/x-www-form-urlencoded"}
    sent = {**kind, "Origin": ORIGIN, "Council_Person": "eve", "Council_Task": "x"}
    forged = ask(front, "/do/inject", "POST", urlencode(form), **sent)
    assert (forged.status, forged.json()["code"]) == (403, "forged")
    whole = urlencode({**form, "form_token": token})
    for origin in ("https://evil.example", "null", f"http://{NAME}"):
        assert ask(front, "/do/inject", "POST", whole, **{**sent, "Origin": origin}).status == 403
    done = ask(front, "/do/inject", "POST", whole, **sent)
    assert done.status == 303 and done.headers["location"].startswith("/")
    said = served.council("show", "--json").out
    assert "Hurry up, all of you." in said and '"anna"' in said and "eve" not in said

    # What happens comes at once.
    reader = front.read(Host=NAME, Authorization=BASIC)
    assert reader.status == 200
    assert served.council("respond", "--as", "owl", "Yes, and soon.").code == 0
    reader.until_type("contribution.recorded", 10)
    assert ask(front, "/do/inject", "POST", "a" * 5_000_000, **sent).status == 413
