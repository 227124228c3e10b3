"""Strangers are refused on every route, and every answer is harmless in a browser."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from tests.faces.web.serving import HttpHall, failure
from tests.processes import run_context

from contexthall.core.errors import UsageError
from contexthall.faces.web.address import Address
from contexthall.faces.web.app import STATIC
from contexthall.faces.web.guard import HostNames

ROUTES = ["/", "/static/main.js", "/api/hall", "/api/events", "/healthz", "/mcp", "/nowhere"]
FOREIGN_ORIGINS = [
    "http://evil.example",
    "null",
    "https://{host}",
    "http://127.0.0.1:1",
    "http://{host}.evil.example",
    "",
]


@pytest.fixture(scope="module")
def hall(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpHall]:
    with HttpHall(cwd=tmp_path_factory.mktemp("hall")) as hall:
        yield hall


@pytest.mark.parametrize("path", ROUTES)
def test_a_foreign_name_that_was_made_to_lead_here_is_refused(hall: HttpHall, path: str) -> None:
    for host in ("evil.example", f"evil.example:{hall.http.base_url.port}", "127.0.0.1", "127.0.0.1:1", ""):
        answer = hall.http.get(path, headers={"Host": host})
        assert failure(answer)[:2] == (403, "forbidden")


@pytest.mark.parametrize("path", ROUTES)
@pytest.mark.parametrize("origin", FOREIGN_ORIGINS)
def test_a_page_of_another_origin_is_refused(hall: HttpHall, path: str, origin: str) -> None:
    foreign = origin.format(host=hall.url.removeprefix("http://"))
    for method in ("GET", "POST", "OPTIONS"):
        answer = hall.http.request(method, path, headers={"Origin": foreign})
        assert failure(answer)[:2] == (403, "forbidden")
        assert "access-control-allow-origin" not in answer.headers


def test_a_foreign_page_that_tells_no_origin_gets_no_more_than_the_files_of_the_page(hall: HttpHall) -> None:
    for site in ("cross-site", "same-site"):
        assert failure(hall.http.get("/api/guild", headers={"Sec-Fetch-Site": site}))[:2] == (403, "forbidden")
        assert hall.http.get("/", headers={"Sec-Fetch-Site": site}).status_code == 200  # a link leads here
    for site in ("same-origin", "none"):
        assert hall.http.get("/api/guild", headers={"Sec-Fetch-Site": site}).status_code == 200


def test_the_hall_answers_to_every_name_of_this_machine_and_its_own_pages(hall: HttpHall) -> None:
    port = hall.http.base_url.port
    for host in (f"127.0.0.1:{port}", f"localhost:{port}", f"LOCALHOST:{port}", f"[::1]:{port}"):
        answer = hall.http.get("/healthz", headers={"Host": host, "Origin": f"http://{host}"})
        assert answer.status_code == 200


@pytest.mark.parametrize("path", ROUTES)
def test_host_and_origin_are_judged_alike_on_every_route(hall: HttpHall, path: str) -> None:
    port = hall.http.base_url.port
    names = [f"127.0.0.1:{port}", f"LOCALHOST:{port}", f"[::1]:{port}"]
    for host, origin in itertools.product(names, names):
        headers = {"Host": host, "Origin": f"HTTP://{origin}", "Accept": "application/json"}
        assert hall.http.put(path, headers=headers).status_code in {404, 405}  # which is asked only once it is let in


@pytest.mark.parametrize("path", ROUTES)
def test_every_answer_keeps_a_browser_from_doing_more_with_it(hall: HttpHall, path: str) -> None:
    with hall.http.stream("GET", path) as answer:
        headers = answer.headers
    assert headers["content-security-policy"] == (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert "server" not in headers
    is_page = path in {"/", "/static/main.js"}
    assert headers["cache-control"].removesuffix(", no-transform") == ("no-cache" if is_page else "no-store")


def test_a_file_of_the_page_that_a_browser_has_is_not_sent_again(hall: HttpHall) -> None:
    first = hall.http.get("/")
    assert first.headers["content-type"] == "text/html; charset=utf-8"
    again = hall.http.get("/", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert hall.http.get("/", headers={"If-None-Match": '"other"'}).content == first.content
    assert hall.http.post("/").status_code == 405


@pytest.mark.parametrize(
    ("accepted", "encoding"), [("gzip, br", "gzip"), ("gzip;q=0.5", "gzip"), ("gzip;q=0", None), ("identity", None)]
)
def test_the_page_is_compressed_for_browsers_that_take_it_so(
    hall: HttpHall, accepted: str, encoding: str | None
) -> None:
    answer = hall.http.get("/static/main.js", headers={"Accept-Encoding": accepted})
    assert answer.headers.get("content-encoding") == encoding
    assert answer.headers["vary"] == "Accept-Encoding"
    assert answer.content == Path(STATIC, "main.js").read_bytes()
    again = hall.http.get("/static/main.js", headers={"Accept-Encoding": "br", "If-None-Match": answer.headers["etag"]})
    assert again.status_code == (200 if encoding else 304)


@pytest.mark.parametrize(
    "path",
    [
        "/static/../api.py",
        "/static/%2e%2e/api.py",
        "/static/",
        "/static",
        "//",
        "/index.html",
        "/api/hall/",
        "/api/hall%0a",
    ],
)
def test_nothing_but_the_files_of_the_page_is_served(hall: HttpHall, path: str) -> None:
    answer = httpx2.get(httpx2.URL(hall.url).copy_with(raw_path=path.encode()), trust_env=False)
    assert failure(answer) == (404, "usage", "Nothing is at that path.")


def test_with_a_token_everything_but_the_files_of_the_page_wants_it(tmp_path: Path) -> None:
    with HttpHall("--token", "s#cret", cwd=tmp_path) as hall:
        assert hall.token == "s%23cret"
        for path in ROUTES:
            for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic s#cret"}):
                answer = hall.http.get(path, headers=headers)
                if path in {"/", "/static/main.js"}:
                    assert answer.status_code == 200
                else:
                    assert failure(answer)[:2] == (401, "unauthorized")
                    assert answer.headers["www-authenticate"] == "Bearer"
        known = {"Authorization": "Bearer s#cret"}
        assert hall.get("/healthz", headers=known)["status"] == "ok"
        assert hall.http.get("/healthz", headers={**known, "Host": "evil.example"}).status_code == 403


def test_the_token_can_stand_in_the_environment(tmp_path: Path) -> None:
    with HttpHall(cwd=tmp_path, env={"CONTEXT_HTTP_TOKEN": "from-afar"}) as hall:
        assert hall.token == "from-afar"
        assert hall.http.get("/healthz").status_code == 401


def test_an_address_that_others_can_reach_needs_a_token(tmp_path: Path) -> None:
    for http in ("0.0.0.0:0", "[::]:0"):
        answer = run_context("serve", "--http", http, cwd=tmp_path)
        assert answer.returncode == 1
        assert b"needs a token" in answer.stderr
        assert b"--token" in answer.stderr


def test_everywhere_means_by_every_numeric_address_but_by_no_foreign_name(tmp_path: Path) -> None:
    with HttpHall("--token", "t", cwd=tmp_path, http="0.0.0.0:0") as hall:
        assert hall.url.startswith("http://127.0.0.1:")
        known = {"Authorization": "Bearer t"}
        for host, status in (
            ("192.0.2.7:8080", 200),
            ("[2001:db8::1]", 200),
            ("evil.example:8080", 403),
            ("1.2.3", 403),
        ):
            assert hall.http.get("/healthz", headers={**known, "Host": host}).status_code == status
        own = {**known, "Host": "192.0.2.7:8080", "Origin": "http://192.0.2.7:8080"}
        assert hall.http.get("/healthz", headers=own).status_code == 200
        assert hall.http.get("/healthz", headers={**own, "Origin": "http://192.0.2.8"}).status_code == 403


def test_a_token_that_no_header_can_carry_is_refused_and_not_repeated(tmp_path: Path) -> None:
    typed = run_context("serve", "--http", "0", "--token", "two words", cwd=tmp_path)
    set_before = run_context("serve", "--http", "0", cwd=tmp_path, env={"CONTEXT_HTTP_TOKEN": "two words"})
    for answer in (typed, set_before):
        assert answer.returncode == 1
        assert b"without spaces" in answer.stderr
        assert b"two words" not in answer.stderr


def test_a_token_that_a_script_forgot_to_fill_in_is_not_taken_for_none(tmp_path: Path) -> None:
    answer = run_context("serve", "--http", "0", "--token", "", cwd=tmp_path)
    assert (answer.returncode, b"--token must be" in answer.stderr) == (1, True)


def test_a_token_without_http_is_a_mistake(tmp_path: Path) -> None:
    answer = run_context("serve", "--token", "t", cwd=tmp_path)
    assert (answer.returncode, b"--token is for --http" in answer.stderr) == (1, True)


@pytest.mark.parametrize(
    "http", ["", "x", "-1", "65536", ":80", "host", "a b:1", "::1:80", "http://127.0.0.1:80", "1:2:3"]
)
def test_what_is_no_address_is_said_to_be_none(http: str) -> None:
    with pytest.raises(UsageError, match="is not an address"):
        Address.read(http)


@pytest.mark.parametrize(
    ("http", "url"),
    [
        ("8080", "http://127.0.0.1:8080/"),
        ("localhost:1", "http://localhost:1/"),
        ("[::1]:8080", "http://[::1]:8080/"),
        ("[::]:8080", "http://[::1]:8080/"),
    ],
)
def test_an_address_is_read_as_people_write_it(http: str, url: str) -> None:
    assert Address.read(http).url == url


def test_a_port_that_is_taken_is_said_to_be(tmp_path: Path) -> None:
    with HttpHall(cwd=tmp_path) as hall:
        port = str(hall.http.base_url.port)
        answer = run_context("serve", "--http", port, cwd=tmp_path)
    assert answer.returncode == 1
    assert f"cannot listen at 127.0.0.1:{port}: another Context Hall listens there".encode() in answer.stderr
    assert b"or choose another port" in answer.stderr


def test_on_the_webs_own_port_the_name_alone_will_do() -> None:
    names = HostNames.of("127.0.0.1", 80)
    assert names.allow("localhost")
    assert names.allow("localhost:80")
    assert not HostNames.of("127.0.0.1", 8080).allow("localhost")
