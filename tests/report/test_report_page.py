"""The page: complete, self-contained, and deaf to whatever text the runs hold."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections import Counter
from html.parser import HTMLParser

import fake_run
import pytest

from coplay.errors import UsageError
from coplay.report import Arm, load_run, write_report
from coplay.report.heat_map import HeatMap
from coplay.report.outcome import outcome
from coplay.report.page import TEMPLATES, render
from coplay.report.replay import MAX_BYTES, pick_steps, replay_data
from coplay.report.sections import compare

HOSTILE = "</script><img src=x onerror=alert(1)><!--\u2028\u2029 ${1} {{ 7*7 }} \u202e' \" & \udc80"
VOID = {"meta", "link", "img", "br", "hr", "input"}


class Page(HTMLParser):
    """What a browser would find: tags, attributes, texts of scripts."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.scripts, self.text, self.open, self.headings = Counter(), [], [], "", [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags[tag] += 1
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)
        if tag == "script":
            self.scripts.append((dict(attrs).get("type"), ""))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts[-1] = (self.scripts[-1][0], self.scripts[-1][1] + data)
        elif not self.open or self.open[-1] != "style":
            self.text += data
            if self.open and self.open[-1] in ("h1", "h2"):
                self.headings.append(data)

    def values(self, name):
        return [value for _, attribute, value in self.attributes if attribute == name]


@pytest.fixture(scope="module")
def arms(tmp_path_factory):
    root = tmp_path_factory.mktemp("runs")
    found = []
    for name in ("baseline", "shaper"):
        path = fake_run.write_run(root / name, arm=name, seeds=2, trials=9, episodes=2, rounds=5)
        found.append(Arm(name, name.title(), load_run(path)))
    return found


def table(arms):
    results = {}
    for arm in arms:
        for seat in arm.run.seats:
            reward = outcome(arm.run).reward(seat)
            results[arm.name, seat] = (reward.mean, reward.half_width, reward.n)
    return fake_run.table_from(results)


@pytest.fixture(scope="module")
def page(arms, tmp_path_factory):
    out = tmp_path_factory.mktemp("report")
    path = write_report(out, arms, title="ShapeLLM, Table 1", claims=fake_run.claims_for(3.7), table=table(arms))
    assert path == out / "report.html"
    assert (out / "figures" / "training.pdf").is_file()
    return Page(path.read_text(encoding="utf-8"))


def test_the_page_is_whole(page):
    assert page.open == []
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    for target in page.values("href"):
        assert re.fullmatch(r"#replay(/\d+){5}", target) or target[1:] in ids, "the replay's script reads five numbers"
    assert page.tags["svg"] == 5


def test_contents_in_order(page):
    assert page.headings == [
        "ShapeLLM, Table 1",
        "Training",
        "After training",
        "Reward per step, beside the published table",
        "Claims",
        "Setup",
        "Games",
    ]
    assert page.text.index("Two naive learners end") < page.text.index("Training")
    for words in (
        "does not hold",
        "gemma-2-2b-it",
        "learners.row.memory",
        "trial_counts",
        "torch",
        "coplay reproduce shapellm/table1",
    ):
        assert words in page.text


def test_navigation_and_headings_agree(arms):
    """A link of the navigation says the heading it leads to, or how it begins."""
    text = render(arms, title="t", claims=fake_run.claims_for(3.0), maps=[A_MAP])
    nav = text[text.index("<nav") : text.index("</nav>")]
    links = re.findall(r'href="#([^"]+)">([^<]+)<', nav)
    assert len(links) == 7
    for target, words in links:
        at = text.index(f'id="{target}"')
        assert re.search(r"<h2[^>]*>([^<{]*)", text[text.rindex("<", 0, at) :]).group(1).startswith(words)


def test_a_shares_exact_interval_is_shown_by_its_ends(arms):
    share = {**fake_run.claims_for(3.0)[0], "measured": 1.0, "ci95": 0.52, "interval": [0.4782, 1.0]}
    text = " ".join(re.sub(r"<[^>]+>", " ", render(arms, title="t", claims=[share])).split())
    assert "measured 1.00 [0.48, 1.00]" in text and "0.52" not in text


A_MAP = HeatMap("m", ("down", ("a",)), ("across", ("b",)), (((1.0, 0.1),),))


@pytest.mark.parametrize("page", ["report", "overview", "sweep", "first_policies", "safety"])
def test_on_a_phone_every_cell_says_its_column(page):
    """Narrow pages set a table's cells below one another and hide its head: numbers carry their column's name."""
    source = (TEMPLATES / f"{page}.html.j2").read_text()
    for table in re.findall(r'<table class="results">.*?</table>', source, re.DOTALL):
        for attributes in re.findall(r"<td([^>]*)>", table[table.index("<tbody>") :]):
            assert 'class="n"' not in attributes or "data-label=" in attributes


def test_nothing_outside_is_asked_for(page):
    for tag, name, value in page.attributes:
        assert "//" not in value or name in ("aria-label", "content"), (tag, name, value)
    assert not page.values("src")
    assert set(page.tags) & {"link", "img", "iframe", "object", "base", "form"} == set()
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]
    policy = page.values("content")
    assert any("default-src 'none'" in value for value in policy)


def test_the_policy_admits_the_one_script(page):
    code = [text for kind, text in page.scripts if kind is None]
    assert len(code) == 1
    digest = base64.b64encode(hashlib.sha256(code[0].encode()).digest()).decode()
    assert any(f"script-src 'sha256-{digest}'" in value for value in page.values("content"))
    assert "innerHTML" not in code[0]
    assert "eval(" not in code[0]


def test_the_replay_holds_the_exact_games(page, arms):
    data = json.loads(next(text for kind, text in page.scripts if kind == "application/json"))
    shown = data["arms"][1]["games"][-1]
    original = next(
        e for e in arms[1].run.episodes if all(e[key] == shown[key] for key in ("step", "seed", "game", "episode"))
    )
    assert shown["states"] == original["states"]
    for place, (packed, seat) in enumerate(zip(shown["seats"], ("row", "column"), strict=True)):
        for turn, one in zip(packed, original["rounds"], strict=True):
            truth = one["acts"][place]
            assert "\n".join(data["lines"][i] for i in turn["read"]) == truth["prompt"]
            assert (turn["reply"], turn["action"], turn["payoff"]) == (
                truth["reply"],
                truth["action"],
                one["payoffs"][seat],
            )
            assert turn["probs"]["cooperate"] == pytest.approx(truth["probs"]["cooperate"], abs=1e-4)


def poison(value, *, keys=("version", "step", "seed", "game", "episode")):
    """Put the hostile text into every string of a record."""
    if isinstance(value, dict):
        return {k: v if k in keys else poison(v) for k, v in value.items()}
    if isinstance(value, list):
        return [poison(v) for v in value]
    return value + HOSTILE if isinstance(value, str) else value


def test_hostile_text_is_inert(tmp_path):
    path = fake_run.write_run(tmp_path / "run", seeds=1, trials=3, episodes=1, rounds=3)
    for name in ("config.json", "env.json"):
        (path / name).write_text(json.dumps(poison(json.loads((path / name).read_text()))))
    for name in ("episodes.jsonl", "metrics.jsonl"):
        lines = [poison(json.loads(line)) for line in (path / name).read_text().split("\n") if line]
        for line in lines:
            line["note/row"] = HOSTILE
            line["state/" + HOSTILE] = 0.1
            for one in line.get("rounds", ()):
                one["dealt"] = dict.fromkeys(("row", "column"), HOSTILE)
                for act in one["acts"]:
                    act["seat"] = act["seat"].removesuffix(HOSTILE)
                one["acts"] = [dict.fromkeys(act, HOSTILE) | {"seat": act["seat"]} for act in one["acts"]] + one["acts"]
        (path / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    arm = Arm("a" + HOSTILE, "Arm" + HOSTILE, load_run(path))
    claims = [
        {
            "id": HOSTILE,
            "claim": HOSTILE,
            "paper": HOSTILE,
            "published": HOSTILE,
            "measured": 1.0,
            "ci95": None,
            "n_seeds": 1,
            "model": HOSTILE,
            "holds": False,
        }
    ]
    rows = [
        {
            "arm": arm.name,
            "seat": "row",
            "role": HOSTILE,
            "published": 1.0,
            "published_ci95": None,
            "measured": None,
            "ci95": None,
            "n_seeds": 0,
        }
    ]
    text = write_report(tmp_path / "out", [arm], title="Title" + HOSTILE, claims=claims, table=rows).read_text(
        encoding="utf-8"
    )
    page = Page(text)
    assert page.open == []
    assert page.tags["img"] == 0
    assert page.tags["script"] == 2
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]
    assert "49" not in page.text.split("Training")[0].replace("{{ 7*7 }}", "")
    data = next(text for kind, text in page.scripts if kind == "application/json")
    assert not set("<>&\u2028\u2029") & set(data)
    turn = json.loads(data)["arms"][0]["games"][0]["seats"][0][0]
    assert turn["reply"].endswith(HOSTILE)
    assert turn["before"][0]["reply"] == turn["dealt"] == HOSTILE


def test_a_single_unfinished_run(tmp_path):
    path = fake_run.write_run(tmp_path / "run", seeds=1, trials=4, episodes=1, rounds=3, evaluate=False)
    (path / "episodes.jsonl").unlink()
    with open(path / "metrics.jsonl", "a") as file:
        file.write('{"step": 5, "se')
    page = Page(
        write_report(path, [Arm("run", "Run", load_run(path))], title="shapellm/ipd").read_text(encoding="utf-8")
    )
    assert page.open == []
    assert "No evaluation was run" in page.text
    assert "A single seed has no interval." in page.text
    assert "Claims" not in page.text
    assert "#games" not in page.values("href")


def test_no_arms(tmp_path):
    with pytest.raises(UsageError, match="coplay report DIR"):
        write_report(tmp_path, [], title="nothing")


def test_same_runs_same_page(arms):
    assert render(arms[:1], title="t") == render(arms[:1], title="t")


def test_pick_steps():
    assert pick_steps([5, 1, 1]) == [1, 5]
    assert pick_steps([1, 20, 140, 170, 300]) == [1, 140, 300]
    assert pick_steps([]) == []


def test_seeds_are_left_out_of_a_replay_too_large(arms, monkeypatch):
    assert {game["seed"] for game in replay_data(arms)["arms"][0]["games"]} == {0, 1}
    monkeypatch.setattr("coplay.report.replay.MAX_BYTES", 10)
    assert {game["seed"] for game in replay_data(arms)["arms"][0]["games"]} == {0}
    assert MAX_BYTES > 1_000_000


def test_compare():
    row = {"measured": 3.72, "ci95": 0.1, "published": 3.96, "published_ci95": 0.01}
    assert compare(row) == "\u22120.24"
    assert compare(row | {"ci95": 0.3}) == "intervals overlap"
    assert compare(row | {"measured": None}) == "not measured"
    assert compare({"measured": 1.0}) == ""
