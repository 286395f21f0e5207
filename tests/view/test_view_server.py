"""What the server answers to whom: methods, hosts, addresses, policies, ports."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import fake_run
import pytest
from hypothesis import given
from hypothesis import strategies as st
from serving import ask, identifiers, serving
from small_runs import source_environment

from coplay.errors import UsageError
from coplay.view.server import Server, is_loopback


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    root = tmp_path_factory.mktemp("view")
    (root / "secret.json").write_text("SECRET")
    run = fake_run.write_run(root / "runs" / "shaper", trials=6, rounds=3)
    (run / "report.html").write_text("<h1>ours</h1><script>alert(1)</script>")
    (root / "runs" / "linked").symlink_to(root)
    with serving(root / "runs") as address:
        yield address


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LOCALHOST:99", "[::1]:8642", "127.0.0.1:1"])
def test_loopback_names_are_answered(url: str, host: str) -> None:
    assert ask(url, "/", host=host).status == 200


@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "evil.example:8642",
        "localhost@evil",
        "x/localhost",
    ],
)
def test_any_other_host_is_refused(url: str, host: str) -> None:
    for path in ("/", "/live/list", "/static/view.js"):
        got = ask(url, path, host=host)
        assert got.status == 403 and "shaper" not in got.text


@given(st.text(st.characters(codec="latin-1"), max_size=30))
def test_no_text_is_taken_for_a_loopback_name(text: str) -> None:
    name = text.rpartition(":")[0] or text
    assert not is_loopback(text) or name.lower() in ("127.0.0.1", "localhost", "[::1]")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_nothing_can_be_changed(url: str, method: str) -> None:
    got = ask(url, "/", method=method)
    assert got.status == 405 and got.headers["Allow"] == "GET, HEAD"


def test_head_has_no_body(url: str) -> None:
    head, got = ask(url, "/static/view.css", method="HEAD"), ask(url, "/static/view.css")
    assert head.text == "" and head.headers["Content-Length"] == got.headers["Content-Length"]


def test_every_answer_has_a_policy(url: str) -> None:
    one = identifiers(url)["shaper"]
    for path in ("/", f"/in/{one}", f"/in/{one}/games", "/compare", "/live/list", "/nothing", "/static/view.js"):
        policy = ask(url, path).headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; script-src 'self';") and "unsafe-eval" not in policy
    text = ask(url, f"/in/{one}").text
    assert "<script>" not in text and "http://" not in text.replace("http://www.w3.org", "") and "https://" not in text


def test_reports_are_sandboxed(url: str) -> None:
    got = ask(url, f"/in/{identifiers(url)['shaper']}/report")
    policy = got.headers["Content-Security-Policy"]
    assert got.status == 200 and "ours" in got.text
    assert policy.startswith("sandbox allow-scripts; default-src 'none'; script-src 'sha256-")
    assert "allow-same-origin" not in policy and "script-src 'unsafe" not in policy


@pytest.mark.parametrize(
    "path",
    [
        "/../secret.json",
        "/static/../secret.json",
        "/static/%2e%2e/%2e%2e/secret.json",
        "/in/..%2f..%2fsecret.json",
        "/in/secret.json/report",
        "//secret.json",
        "/in/%00",
        "/in/000000000000",
        "/in/000000000000/report",
        "/live/in/000000000000",
        "/%ff",
        "/in/shaper",
        "/static/base.html.j2",
        "/compare?id=../secret.json",
        "/?q=" + "a" * 3000,
        "/compare?" + "&".join(["id=1"] * 200),
    ],
)
def test_no_path_leads_out(url: str, path: str) -> None:
    got = ask(url, path)
    assert "SECRET" not in got.text
    assert got.status in (400, 404) or path.startswith(("/compare?id=..", "/?q"))


def test_links_in_the_directory_are_not_followed(url: str) -> None:
    assert list(identifiers(url)) == ["shaper"]


def test_a_report_that_is_a_link_is_not_served(tmp_path: Path) -> None:
    run = fake_run.write_run(tmp_path / "runs" / "one", trials=2, rounds=2)
    (tmp_path / "secret").write_text("SECRET")
    (run / "report.html").symlink_to(tmp_path / "secret")
    with serving(tmp_path / "runs") as url:
        got = ask(url, f"/in/{identifiers(url)['one']}/report")
        assert "SECRET" not in got.text and "is a link" in got.text


def test_it_listens_on_the_loopback_address_alone(tmp_path: Path) -> None:
    with Server(tmp_path, port=0) as server:
        assert server.server_address[0] == "127.0.0.1"


def test_a_port_in_use_is_told(tmp_path: Path) -> None:
    with Server(tmp_path, port=0) as first:
        port = first.server_address[1]
        with pytest.raises(UsageError, match=rf"port {port} is in use.*--port 0"):
            Server(tmp_path, port=port)


def test_a_directory_that_goes_away_is_told(tmp_path: Path) -> None:
    fake_run.write_run(tmp_path / "runs" / "one", trials=2, rounds=2)
    with serving(tmp_path / "runs") as url:
        one = identifiers(url)["one"]
        shutil.rmtree(tmp_path / "runs" / "one")
        assert ask(url, f"/in/{one}").status == ask(url, f"/live/in/{one}").status == 404
        time.sleep(0.6)
        shutil.rmtree(tmp_path / "runs")
        assert "There are no runs here yet" in ask(url, "/").text


def test_ctrl_c_ends_it(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "coplay", "view", str(tmp_path), "--port", "0", "--no-browser"]
    with subprocess.Popen(argv, env=source_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        line = process.stdout.readline().decode()
        url = line.split()[-1]
        assert ask(url, "/").status == 200
        with socket.create_connection(
            ("127.0.0.1", int(url.rstrip("/").rpartition(":")[2]))
        ):  # a reader that says nothing
            os.kill(process.pid, signal.SIGINT)
            assert process.wait(timeout=60) in (0, 130)
        assert b"Traceback" not in process.stderr.read()
