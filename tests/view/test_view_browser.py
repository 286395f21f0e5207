"""The page in a real browser: keys, a telephone's width, the dark, hostile text, and following a run that is trained, killed and resumed."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fake_run
import pytest
from serving import ask, identifiers, serving
from small_runs import SMALL, source_environment

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking")
PATIENCE = 300_000
"""Milliseconds; machines that share their cores are slow."""

LED = """
import sys, time
from pathlib import Path
from coplay.runs.state import TrainingState
whole = TrainingState.run_trial
def led(self, number):
    while number >= int(Path("allowed").read_text() or 0):
        time.sleep(0.02)
    return whole(self, number)
TrainingState.run_trial = led
from coplay.cli.main import main
sys.exit(main(sys.argv[1:]))
"""
"""``coplay`` that trains no more trials than the file ``allowed`` says."""

TRIALS = 12


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="needs the extra `browser`: pip install 'coplay[browser]'"
    )
    if not CHROMIUM.exists():
        pytest.skip(f"needs Debian's chromium at {CHROMIUM}: apt install chromium")
    with playwright.sync_playwright() as running:
        found = running.chromium.launch(executable_path=str(CHROMIUM), args=[*FLAGS], timeout=PATIENCE)
        yield found
        found.close()


@contextlib.contextmanager
def opened(browser: Any, address: str, *, clean: bool = True, **context: Any) -> Iterator[Any]:
    """A page in a tab of its own; nothing may be refused by the policy or fail in a script meanwhile."""
    tab = browser.new_context(**context)
    page = tab.new_page()
    page.set_default_timeout(PATIENCE)
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    page.on("dialog", lambda dialog: wrong.append(dialog.message))
    page.goto(address)
    yield page
    tab.close()
    assert not clean or wrong == []


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    parent = tmp_path_factory.mktemp("browser")
    for name, arm in (("a", "baseline"), ("b", "shaper"), ("c", "shaper")):
        fake_run.write_run(parent / name, arm=arm, trials=6, rounds=3)
    return parent


@pytest.fixture(scope="module")
def url(root: Path) -> Iterator[str]:
    with serving(root) as address:
        yield address


def focused(page: Any) -> str:
    return str(page.evaluate("document.activeElement.textContent.trim()"))


def test_keys_of_the_list(browser: Any, url: str) -> None:
    with opened(browser, url) as page:
        press = page.keyboard.press
        press("j")
        assert focused(page) == "a"
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline == "solid"
        press("ArrowDown")
        press("j")
        press("j")
        assert focused(page) == "c"  # the last row is where it ends
        press("k")
        press("x")
        assert page.locator("input:checked").count() == 1
        press("ArrowUp")
        press("x")
        press("?")
        assert page.locator("#keys").evaluate("one => one.open")
        press("/")
        page.keyboard.type("b nothing")
        assert page.locator("#rows tr:visible").count() == 0 and page.locator("#count").inner_text() == "0 of 3"
        press("Escape")
        assert page.locator("#rows tr:visible").count() == 3
        press("c")
        page.wait_for_url("**/compare?*")
        assert page.locator("h1").inner_text() == "Compare 2 runs"
        press("u")
        page.wait_for_url(url)
        press("/")
        page.keyboard.type("c")
        press("Enter")
        assert focused(page) == "c"
        press("Enter")
        page.wait_for_url("**/in/*")
        assert page.locator("h1").inner_text() == "c"
        press("g")
        page.wait_for_url("**/games")
        press("j")
        assert page.evaluate("document.activeElement.id") == "round-1"
        press("u")
        page.wait_for_url("**/in/*")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_telephone_and_the_dark(browser: Any, url: str, scheme: str) -> None:
    ids = identifiers(url)
    paths = ("", f"in/{ids['b']}", f"in/{ids['b']}/games?n=2", f"compare?id={ids['a']}&id={ids['b']}", "in/nothing")
    with opened(browser, url, clean=False, viewport={"width": 390, "height": 844}, color_scheme=scheme) as page:
        for path in paths:
            page.goto(url + path)
            for fold in page.locator("details").all():
                fold.evaluate("one => one.open = true")
            assert page.evaluate("document.documentElement.scrollWidth") <= 390, path
            ground = page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
            ink = page.evaluate("getComputedStyle(document.body).color.match(/\\d+/g).map(Number)")
            assert (max(ground) < 80 and min(ink) > 180) if scheme == "dark" else (min(ground) > 200 and max(ink) < 80)


def test_without_script(browser: Any, url: str) -> None:
    with opened(browser, url, java_script_enabled=False) as page:
        page.get_by_role("link", name="b", exact=True).click()
        assert page.locator("svg").count() == 2
        page.get_by_role("link", name="games as chats").click()
        page.locator("summary", has_text="prompt").first.click()
        assert "2-player game" in page.locator(".prompt").first.inner_text()
        page.get_by_role("link", name="next game").click()
        assert page.locator(".round").count() == 3


def test_hostile_text_runs_nothing(browser: Any, tmp_path: Path) -> None:
    hostile = "</script><img src=x onerror='x7=1;alert(1)'><script>x7=1;alert(1)</script>"
    run = fake_run.write_run(tmp_path / "<img src=x onerror=x7=1>", seeds=1, trials=3, rounds=2)
    lines = [json.loads(line) for line in (run / "episodes.jsonl").read_text().splitlines()]
    for line in lines:
        line["players"] = dict.fromkeys(line["players"], hostile)
        for one in line["rounds"]:
            one["dealt"] = dict.fromkeys(line["players"], hostile)
            for act in one["acts"]:
                act |= dict.fromkeys(("phase", "prompt", "reply", "action"), hostile)
                act["readers"] = {"row": hostile, hostile: hostile}
    (run / "episodes.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    config = json.loads((run / "config.json").read_text()) | {"recipe": hostile, "model": hostile}
    (run / "config.json").write_text(json.dumps(config))
    (run / "report.html").write_text(f"<p id=ours>ours</p>{hostile}<script>fetch('/live/list')</script>")
    with serving(tmp_path) as url:
        one = ask(url, "/live/list").json["parts"]["rows"].split('id="row-')[1][:12]
        asked: list[str] = []
        with opened(browser, url, clean=False) as page:
            page.on("dialog", lambda dialog: asked.append(dialog.message))
            for path in ("", f"in/{one}", f"in/{one}/games", f"compare?id={one}", f"in/{one}/report"):
                page.goto(url + path)
                page.wait_for_timeout(50)
                assert page.evaluate("typeof x7") == "undefined", path
            assert page.locator("#ours").inner_text() == "ours"
            assert page.evaluate("origin") == "null"  # of no origin: it can read nothing of this server
        assert asked == []


def test_nothing_is_asked_while_the_tab_is_hidden(browser: Any, url: str) -> None:
    with opened(browser, "about:blank") as page:
        page.clock.install()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url) if "/live/" in request.url else None)
        page.goto(url)

        def turn(hidden: bool) -> None:
            page.evaluate(
                "hidden => { Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });"
                " document.dispatchEvent(new Event('visibilitychange')); }",
                hidden,
            )

        turn(True)
        asked.clear()
        page.clock.run_for(60_000)
        assert asked == []
        with page.expect_request("**/live/list*"):
            turn(False)


def until(page: Any, holds: Callable[[str], bool], seen: list[str]) -> str:
    """The text of the page once something holds of it; it asks again at once, as when its tab is shown."""
    end = time.monotonic() + PATIENCE / 1000
    while time.monotonic() < end:
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        page.wait_for_timeout(100)
        text = str(page.locator("main").inner_text())
        seen.append(text)
        if holds(text):
            return text
    raise AssertionError(f"never: {seen[-1]}")


@contextlib.contextmanager
def coplay(*argv: str, cwd: Path) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", LED, *argv], cwd=cwd, env=source_environment()) as process:
        yield process
        process.kill()


def test_a_run_is_followed_while_it_is_trained_killed_and_resumed(browser: Any, tmp_path: Path) -> None:
    sizes = [one for one in SMALL if not one.startswith("trials")]
    argv = (
        "train",
        "shapellm/ipd",
        "--learner",
        "tabular",
        "--seeds",
        "0",
        *sizes,
        f"trials={TRIALS}",
        "--out",
        "runs/it",
        "--quiet",
    )
    (tmp_path / "runs").mkdir()
    allowed = tmp_path / "allowed"
    seen: list[str] = []

    def shows(state: str, trials: int) -> Callable[[str], bool]:
        return lambda text: state in text and f"{trials} / {TRIALS}" in text

    with serving(tmp_path / "runs") as url, opened(browser, url) as page:
        page.evaluate("window.stayed = true")
        allowed.write_text("3")
        with coplay(*argv, cwd=tmp_path) as process:
            until(page, shows("training", 3), seen)
            allowed.write_text("5")  # the last checkpoint is of trial 4
            until(page, shows("training", 5), seen)
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
        until(page, shows("interrupted", 5), seen)
        with opened(browser, f"{url}in/{identifiers(url)['it']}") as one:
            assert "coplay train --resume" in one.locator("#state").inner_text()
            one.evaluate("window.stayed = true")
            with coplay("train", "--resume", "runs/it", "--quiet", cwd=tmp_path) as process:
                until(one, lambda text: "training" in text, seen)
                allowed.write_text(str(TRIALS))
                assert process.wait(timeout=PATIENCE / 1000) == 0
            until(one, lambda text: shows("finished", TRIALS)(text) and "games a seed after training" in text, seen)
            assert one.locator("svg").count() == 2 and one.evaluate("window.stayed")
        until(page, shows("finished", TRIALS), seen)
        assert page.evaluate("window.stayed")  # it was never loaded anew
    assert [text for text in seen if "damaged" in text or "\u2717" in text] == []
