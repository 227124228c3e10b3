"""Several halls can stand behind a load balancer: each says whether it is ready, and what it did."""

import re
import shutil
import signal
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import httpx2
import yaml
from tests.caches.making import build_pages
from tests.faces.web.serving import ACCEPT, HttpHall, RawSession, told
from tests.machine import must_be_here
from tests.processes import MODERN, MODERN_META, PATIENCE_SECONDS, free_port, run_context
from tests.waiting import wait_until

from contexthall.hall import open_hall

EXAMPLES = Path(__file__).parents[3] / "examples" / "replicas"
TOKEN = "let-me-in"


def metrics(hall: HttpHall, **headers: str) -> dict[str, float]:
    answer = hall.http.get("/metrics", headers=headers)
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = [line for line in answer.text.splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r'contexthall_[a-z_]+(\{(\w+="[^"]*",?)+\})? [0-9.e-]+', line) for line in lines)
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


def ask(http: httpx2.Client, cache: str, **headers: str) -> Any:
    """Ask in the current era, without any state."""
    arguments = {"cache": cache, "query": "rotate keys", "budget": 400}
    params = {"name": "context.resolve", "arguments": arguments, "_meta": MODERN_META}
    named = {"Mcp-Protocol-Version": MODERN, "Mcp-Method": "tools/call", "Mcp-Name": "context.resolve"}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return told(http.post("/mcp", json=body, headers={**ACCEPT, **named, **headers}))[-1]["result"]


def test_a_hall_is_ready_until_it_drains_and_counts_what_it_answers(tmp_path: Path) -> None:
    cache = build_pages(tmp_path, {"keys.md": "# Keys\nRotate keys.\n"})
    open_hall(tmp_path).push_cache(str(cache), f"file://{tmp_path}/store/cache")
    url = f"file://{tmp_path}/store/cache"
    with HttpHall("--token", TOKEN, "--drain", "600", "--allow-root", f"file://{tmp_path}/store", cwd=tmp_path) as hall:
        bearer = {"Authorization": f"Bearer {TOKEN}"}
        assert hall.get("/readyz") == {"status": "ready"}
        assert hall.http.get("/metrics").status_code == 401
        assert "Rotate keys." in ask(hall.http, url, **bearer)["content"][0]["text"]
        hall.http.get("/no/such/path", headers=bearer)
        found = metrics(hall, **bearer)
        assert found['contexthall_requests_total{path="/mcp",status="200"}'] == 1
        assert found['contexthall_requests_total{path="other",status="404"}'] == 1
        assert found["contexthall_store_requests_total"] > 1
        assert found["contexthall_draining"] == 0
        assert str(tmp_path) not in hall.http.get("/metrics", headers=bearer).text
        hall.process.send_signal(signal.SIGTERM)
        wait_until(lambda: hall.http.get("/readyz").status_code == 503)
        assert "Rotate keys." in ask(hall.http, url, **bearer)["content"][0]["text"]
        assert metrics(hall, **bearer)["contexthall_draining"] == 1
        assert hall.stop(signal.SIGTERM) == 0


def test_draining_is_for_http(tmp_path: Path) -> None:
    answer = run_context("serve", "--drain", "1", cwd=tmp_path)
    assert (answer.returncode, b"--drain is for --http" in answer.stderr) == (1, True)


def test_the_examples_are_what_they_should_be() -> None:
    compose = yaml.safe_load((EXAMPLES / "compose.yaml").read_text())
    documents = [*yaml.safe_load_all((EXAMPLES / "kubernetes.yaml").read_text())]
    assert [each["kind"] for each in documents] == ["Deployment", "Service"]
    (container,) = documents[0]["spec"]["template"]["spec"]["containers"]
    for arguments in (container["args"], compose["services"]["hall-one"]["command"]):
        assert "--drain" in arguments
        assert "--allow-root" in arguments


def test_two_halls_behind_haproxy_are_one_and_one_of_them_may_leave(tmp_path: Path) -> None:
    must_be_here(shutil.which("haproxy"), "NO LOAD BALANCER: haproxy is not installed; type `make balancer`")
    cache = build_pages(tmp_path, {"keys.md": "# Keys\nRotate keys.\n"})
    url, inside, outside = f"file://{tmp_path}/store/cache", free_port(), free_port()
    open_hall(tmp_path).push_cache(str(cache), url)
    text = (EXAMPLES / "haproxy.cfg").read_text().replace("bind :8321", f"bind 127.0.0.1:{outside}")
    text = text.replace("127.0.0.1:8321", f"127.0.0.1:{inside}").replace("leastconn", "roundrobin")
    text = text.replace("hall-one:8321", f"127.0.0.2:{inside}").replace("hall-two:8321", f"127.0.0.3:{inside}")
    (tmp_path / "haproxy.cfg").write_text(text)
    options = ("--drain", "600", "--allow-root", f"file://{tmp_path}/store")
    with (
        HttpHall(*options, http=f"127.0.0.2:{inside}", cwd=tmp_path) as one,
        HttpHall(*options, http=f"127.0.0.3:{inside}", cwd=tmp_path) as two,
        subprocess.Popen(["haproxy", "-f", "haproxy.cfg"], cwd=tmp_path, stderr=subprocess.DEVNULL) as balancer,
        httpx2.Client(base_url=f"http://127.0.0.1:{outside}", timeout=PATIENCE_SECONDS, trust_env=False) as http,
    ):
        try:

            def is_up() -> bool:
                try:
                    return http.get("/readyz").status_code == 200
                except httpx2.TransportError:
                    return False

            def answered(hall: HttpHall) -> float:
                return metrics(hall).get('contexthall_requests_total{path="/mcp",status="200"}', 0)

            wait_until(is_up)
            texts = Counter(ask(http, url)["content"][0]["text"] for _ in range(20))
            assert len(texts) == 1
            assert answered(one) + answered(two) == 20
            assert min(answered(one), answered(two)) > 0
            sessions = []
            for _ in range(4):
                session = RawSession(one)
                session._hall = type("Balanced", (), {"http": http})()
                assert session.initialize().status_code == 200
                sessions.append(session)
            for session in sessions * 5:
                assert session.request("tools/list")["tools"]
            one.process.send_signal(signal.SIGTERM)

            def has_left() -> bool:
                """Whether the balancer asks the first one no more; until it has looked, that one answers."""
                before = answered(one)
                assert all("Rotate keys." in ask(http, url)["content"][0]["text"] for _ in range(6))
                return answered(one) == before

            wait_until(has_left)
            assert one.stop(signal.SIGTERM) == 0
            assert "Rotate keys." in ask(http, url)["content"][0]["text"]
        finally:
            balancer.terminate()
            balancer.wait()
