"""What the pages show: rows, results, settings, comparisons; damaged and half-written files; hostile text."""

from __future__ import annotations

import json
import os
import re
import shutil
import threading
import time
from html.parser import HTMLParser
from pathlib import Path

import fake_run
import pytest
from serving import ask, identifiers, serving
from small_runs import QUIET, small

from coplay.evaluation.claims import CheckedClaim
from coplay.evaluation.rules import Verdict
from coplay.files.lock import held_locks, is_held, locked
from coplay.report.data import load_run
from coplay.report.outcome import outcome
from coplay.runs.train import train
from coplay.view.index import REST, Index
from coplay.view.rows import Row

HOSTILE = "<script>x7()</script>\"'><img src=x onerror=x7()>&{{ 7 * 191 }}"


class Tags(HTMLParser):
    """What a browser would run or load."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "script" and dict(attrs) != {"src": "/static/view.js", "defer": None}:
            self.found.append(f"<{tag}>")
        self.found += [f"{name}={value}" for name, value in attrs if name.startswith("on")]
        self.found += [f"{tag} {value}" for name, value in attrs if name == "src" and value != "/static/view.js"]


def rows(root: Path) -> dict[str, Row]:
    return {row.name: row for row in Index(root).rows()}


def append(path: Path, text: str) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(text)


def test_a_finished_run_is_listed(tmp_path: Path) -> None:
    run = train(small("tabular", "trials=2", "seeds=[0,1,2]"), tmp_path / "deep" / "one", progress=QUIET).path
    row = rows(tmp_path)["deep/one"]
    result = outcome(load_run(run))
    assert (row.state, row.done, row.total, row.seeds, row.game) == ("finished", 2, 2, "0 to 2", "ipd")
    assert [float(value) for _, value in row.payoffs] == pytest.approx(
        [interval.mean for seat in ("row", "column") if (interval := result.reward(seat))], abs=0.005
    )


def test_a_lock_that_is_held_is_seen_and_none_is_taken(tmp_path: Path) -> None:
    before = held_locks()
    if before is None:
        pytest.skip("this system does not tell who holds a lock")
    assert not is_held(tmp_path, before)
    with locked(tmp_path):
        held = held_locks()
        assert held is not None and is_held(tmp_path, held)
    after = held_locks()
    assert after is not None and not is_held(tmp_path, after)


def test_an_unfinished_run_is_training_while_its_lock_is_held(tmp_path: Path) -> None:
    run = fake_run.write_run(tmp_path / "one", trials=4, rounds=2, evaluate=False)
    if held_locks() is None:
        pytest.skip("this system does not tell who holds a lock")
    assert rows(tmp_path)["one"].state == "interrupted"
    with locked(run):
        assert rows(tmp_path)["one"].state == "training"


def test_half_a_line_is_never_shown(tmp_path: Path) -> None:
    """Lines grow a few bytes at a time; only complete ones count, in the list and on the page."""
    run = fake_run.write_run(tmp_path / "one", seeds=1, trials=4, rounds=2, evaluate=False)
    metrics = (run / "metrics.jsonl").read_text()
    last = metrics.splitlines(keepends=True)[-1]
    line = last.replace('"step": 4', '"step": 5')
    index = Index(tmp_path)
    with serving(tmp_path) as url:
        one = identifiers(url)["one"]
        for cut in (1, 20, len(line) // 2, len(line) - 2, len(line)):
            (run / "metrics.jsonl").write_text(metrics + line[:cut])
            (row,) = index.rows()
            # the last line may lack its line end, never a part of itself
            assert (row.done, row.state) == (5 if cut >= len(line) - 1 else 4, "interrupted")
            parts = ask(url, f"/live/in/{one}").json["parts"]
            assert "damaged" not in parts["results"] and f"{row.done} / 4" in parts["state"]


def test_games_that_are_being_written_are_not_shown(tmp_path: Path) -> None:
    run = fake_run.write_run(tmp_path / "one", seeds=1, trials=4, episodes=1, rounds=2, evaluate=False)
    line = (run / "episodes.jsonl").read_text().splitlines()[0]
    with serving(tmp_path) as url:
        one = identifiers(url)["one"]
        count = ask(url, f"/in/{one}/games").text.count("<option")
        append(run / "episodes.jsonl", line[: len(line) // 2])
        assert ask(url, f"/in/{one}/games").text.count("<option") == count
        append(run / "episodes.jsonl", line[len(line) // 2 :] + "\n")
        assert ask(url, f"/in/{one}/games").text.count("<option") == count + 1


def test_a_run_that_is_committed_anew_all_the_time_is_never_damaged(tmp_path: Path) -> None:
    """As on a resume: the manifest of a shorter file, then the shorter file; and back."""
    run = train(small("tabular"), tmp_path / "one", progress=QUIET)
    stop = threading.Event()

    def resume_again_and_again() -> None:
        while not stop.is_set():
            again, checkpoint = type(run).at_checkpoint(run.path, "trial-00002")
            again.return_to(checkpoint)
            again.append("metrics.jsonl", [{"step": 3, "seed": 0, "reward/row": 1.0}])
            again.store.commit()
            time.sleep(0.005)

    thread = threading.Thread(target=resume_again_and_again)
    thread.start()
    try:
        index = Index(tmp_path)
        for _ in range(60):
            (row,) = index.rows()
            assert row.state != "damaged", row.told
            index._walked = float("-inf")
    finally:
        stop.set()
        thread.join()


def test_damage_is_told_in_place(tmp_path: Path) -> None:
    for name in ("config", "metrics", "manifest", "good"):
        train(small("tabular", "trials=2"), tmp_path / name, progress=QUIET)
    (tmp_path / "config" / "config.json").write_text("{")
    data = (tmp_path / "metrics" / "metrics.jsonl").read_bytes()
    (tmp_path / "metrics" / "metrics.jsonl").write_bytes(data.replace(b"reward", b"rewerd"))
    (tmp_path / "manifest" / "manifest.json").unlink()
    found = rows(tmp_path)
    assert found["good"].state == "finished"
    assert found["config"].state == found["manifest"].state == "damaged"
    assert "config.json" in found["config"].told and "manifest.json" in found["manifest"].told
    with serving(tmp_path) as url:
        ids = identifiers(url)
        assert set(ids) == {"config", "metrics", "manifest", "good"}
        for name in ("config", "metrics", "manifest"):
            got = ask(url, f"/in/{ids[name]}")
            assert got.status == 200 and "damaged" in got.text and f"{name}.json" in got.text
        compared = ask(url, f"/compare?id={ids['good']}&id={ids['metrics']}").text
        assert "metrics.jsonl" in compared and "Compare 1 run" in compared


def test_the_list_follows_what_is_made_and_deleted(tmp_path: Path) -> None:
    with serving(tmp_path) as url:
        first = ask(url, "/live/list").json
        assert "There are no runs here yet" in first["parts"]["rows"]
        assert ask(url, f"/live/list?mark={first['mark']}").json == {"mark": first["mark"], "parts": {}}
        fake_run.write_run(tmp_path / "new", trials=2, rounds=2)
        time.sleep(REST)
        second = ask(url, f"/live/list?mark={first['mark']}").json
        assert "new" in second["parts"]["rows"] and second["mark"] != first["mark"]


def test_a_page_is_sent_again_only_if_something_changed(tmp_path: Path) -> None:
    run = fake_run.write_run(tmp_path / "one", trials=4, rounds=2, evaluate=False)
    with serving(tmp_path) as url:
        one = identifiers(url)["one"]
        mark = [ask(url, f"/live/in/{one}").json["mark"] for _ in range(2)][-1]
        assert ask(url, f"/live/in/{one}?mark={mark}").json["parts"] == {}
        os.utime(run / "metrics.jsonl")
        assert ask(url, f"/live/in/{one}?mark={mark}").json["parts"]


def test_the_page_of_a_run(tmp_path: Path) -> None:
    train(small("tabular", "trials=2"), tmp_path / "one", progress=QUIET)
    with serving(tmp_path) as url:
        text = ask(url, f"/in/{identifiers(url)['one']}").text
    assert text.count("<svg") == 2 and "trial-00002" in text and "coplay report" in text
    settings = text[text.index("Settings") :]
    assert '<th scope="row">trials</th><td>120</td><td class="differs">2</td>' in settings
    assert "learners.row.ppo.clip" not in settings  # as in the recipe


def test_runs_are_compared(tmp_path: Path) -> None:
    fake_run.write_run(tmp_path / "a" / "base", arm="baseline", trials=6, rounds=2)
    fake_run.write_run(tmp_path / "a" / "shaper", trials=9, rounds=2)
    with serving(tmp_path) as url:
        ids = identifiers(url)
        text = ask(url, f"/compare?id={ids['a/base']}&id={ids['a/shaper']}&id=000000000000").text
    assert text.count("<svg") == 2  # a panel a seat, with both runs in each
    figures = text[text.index("<svg") :]
    assert ">base<" in figures and ">shaper<" in figures
    assert '<th scope="row">trials</th><td>6</td><td>9</td>' in text
    assert '<th scope="row">model</th>' not in text
    assert "There is nothing of that name here" in text


def test_the_filter_works_without_script(tmp_path: Path) -> None:
    fake_run.write_run(tmp_path / "one", trials=2, rounds=2)
    fake_run.write_run(tmp_path / "two", trials=2, rounds=2)
    with serving(tmp_path) as url:
        text = ask(url, "/?q=TWO+interrupted").text
        assert "1 of 2" in text and ">two<" in text and ">one<" not in text
        assert "Nothing here has all of" in ask(url, "/?q=zzz").text


def _claim(name: str, verdict: Verdict, sentence: str) -> CheckedClaim:
    return CheckedClaim(name, "A paper, Table 1", sentence, "at least 2", 3.0, 2.5, 0.1, 5, "tiny", verdict)


def test_the_page_of_an_experiment_has_its_claims(tmp_path: Path) -> None:
    whole = tmp_path / "paper"
    for folder, claims in {
        whole / "table1-ipd": [_claim("a", "holds", "It shapes."), _claim("b", "undecided", "It is quick.")],
        whole / "table2-ipd": [_claim("c", "fails", f"It lasts. {HOSTILE}")],
    }.items():
        folder.mkdir(parents=True)
        (folder / "claims.json").write_text(json.dumps([claim.to_dict() for claim in claims]))
    (whole / "experiment.json").write_text("{}")
    shutil.copytree(whole / "table1-ipd", whole / "table10-ipd")
    shutil.copytree(whole / "table1-ipd", whole / "controls")
    (whole / "controls" / "experiment.json").write_text("{}")
    (whole / "table0-ipd").symlink_to(whole / "table1-ipd")
    with serving(tmp_path) as url:
        address = f"/live/in/{identifiers(url)['paper']}"
        first = ask(url, address).json
        html = first["parts"]["claims"]
        assert "1 of 2 claims hold; 1 is undecided." in html and "0 of 1 claims hold." in html
        assert re.findall(r"<summary>(\S+)", html) == ["table1-ipd", "table2-ipd", "table10-ipd"]
        assert 'measured 2.50<span class="pm"> ± 0.10</span>' in html and "published 3.00" in html
        tags = Tags()
        tags.feed(html)
        assert tags.found == [] and "x7()" in html
        assert ask(url, f"{address}?mark={first['mark']}").json["parts"] == {}
        (whole / "table2-ipd" / "claims.json").write_text("[]")
        later = ask(url, f"{address}?mark={first['mark']}").json["parts"]["claims"]
        assert "It lasts" not in later and "It shapes" in later
        (whole / "table2-ipd" / "claims.json").write_text("[{")
        assert "claims.json" in ask(url, f"{address}?mark={first['mark']}").json["parts"]["results"]


def _planted(value: object) -> object:
    if isinstance(value, dict):
        return {key: _planted(one) for key, one in value.items()} | {HOSTILE: HOSTILE}
    if isinstance(value, list):
        return [*map(_planted, value), HOSTILE]
    return value + HOSTILE if isinstance(value, str) else value


@pytest.mark.parametrize("name", ["config.json", "eval.json", "metrics.jsonl", "episodes.jsonl", "env.json"])
def test_hostile_text_is_harmless(tmp_path: Path, name: str) -> None:
    run = fake_run.write_run(tmp_path / f"it{HOSTILE.replace('/', '')}", seeds=1, trials=2, rounds=2)
    path = run / name
    lines = path.read_text().splitlines() if name.endswith("l") else [path.read_text()]
    path.write_text("".join(json.dumps(_planted(json.loads(line))) + "\n" for line in lines))
    with serving(tmp_path) as url:
        (one,) = ask_ids(url)
        for page in (
            "/",
            f"/in/{one}",
            f"/in/{one}/games?n=1",
            f"/compare?id={one}&id={one}",
            f"/?q={'%3Cscript%3Ex7'}",
        ):
            got = ask(url, page)
            tags = Tags()
            tags.feed(got.text)
            assert got.status == 200 and tags.found == [] and "x7()" in got.text, page
            assert "1337" not in got.text and "<script>x7" not in got.text
        for part in ("/live/list", f"/live/in/{one}"):
            for html in ask(url, part).json["parts"].values():
                tags = Tags()
                tags.feed(html)
                assert tags.found == []


def ask_ids(url: str) -> list[str]:
    rows = ask(url, "/live/list").json["parts"]["rows"]
    return [part[:12] for part in rows.split('id="row-')[1:]]


def test_a_hundred_runs_are_listed_in_a_second(tmp_path: Path) -> None:
    first = train(small("tabular", "trials=2"), tmp_path / "000", progress=QUIET).path
    for number in range(1, 100):
        shutil.copytree(first, tmp_path / f"{number:03}")
    index = Index(tmp_path)
    start = time.process_time()
    assert len(index.rows()) == 100
    assert time.process_time() - start < 1.0
    start = time.process_time()
    assert len(index.rows()) == 100
    assert time.process_time() - start < 0.2
