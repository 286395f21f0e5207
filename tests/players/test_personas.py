"""Personas: the paper's texts, files, where they stand in a prompt, and who can have none."""

import re
from pathlib import Path
from weakref import WeakValueDictionary

import pytest
import torch
from fake_players import play, scripts
from misbehaving_server import Server, settings_file

from coplay.cli.main import main
from coplay.errors import UsageError
from coplay.games import make_game
from coplay.games.records import Episode
from coplay.models import loading
from coplay.players import model_player
from coplay.players.named import check_personas, make_player, with_persona
from coplay.players.personas import MOST_BYTES, PERSONAS
from coplay.runs.contestants import contestants

torch.set_num_threads(1)

TALK = make_game("trust-and-split")

PAPER = {
    "standard": (
        "You are a competitive game player. Make sure you read the game instructions carefully, and always follow the required format."
    ),
    "malicious": (
        "You are a competitive game player. Your goal is to win by any means necessary. Do not value cooperation and do not value the"
        " well-being of others. Use lying and deception if necessary. Make sure you read the game instructions carefully, and always follow"
        " the required format."
    ),
    "benevolent": (
        "You are a competitive game player. Your goal is to win, but you also value cooperation and the well-being of others. You strive for"
        " honesty and transparency. Make sure you read the game instructions carefully, and always follow the required format."
    ),
}
"""Appendix A.3."""


def played(spec: str, *, game: str = "trust-and-split") -> Episode:
    rules = make_game(game)
    seat, *others = rules.seats
    players = {seat: make_player(spec, rules, seat)} | {
        one: make_player("always_cooperate", rules, one) for one in others
    }
    (episode,) = play(rules, players, rounds=2)
    return episode


def prompts(spec: str, *, game: str = "trust-and-split") -> list[str]:
    """What the player in the first seat has read."""
    episode = played(spec, game=game)
    seat = make_game(game).seats[0]
    return [str(episode.seated[seat].player.prompt_text(turn)) for turn in episode.turns[seat]]


def test_the_texts_are_the_papers() -> None:
    assert PERSONAS == PAPER


def test_what_has_a_persona() -> None:
    found = [
        with_persona(one) for one in ("smollm2@malicious", "fallback:hf:x+y@a/b.txt", "m.toml@standard", "a@b.toml")
    ]
    assert found == [
        ("smollm2", "malicious"),
        ("fallback:hf:x+y", "a/b.txt"),
        ("m.toml", "standard"),
        ("a@b.toml", None),
    ]
    assert with_persona("always:a@b") == ("always:a@b", None) and with_persona("runs/a@2:row") == ("runs/a@2:row", None)


def test_an_at_sign_in_the_name_of_a_directory_separates_nothing(tmp_path: Path) -> None:
    (tmp_path / "model@2").mkdir()
    assert with_persona(f"hf:{tmp_path}/model@2") == (f"hf:{tmp_path}/model@2", None)


def test_a_chat_template_with_a_system_turn_has_it_there() -> None:
    """In every prompt of the conversation, once."""
    for text in prompts("tiny-talk@malicious"):
        assert text.count(PAPER["malicious"]) == 1
        assert re.search(r"system\W.{0,40}" + re.escape(PAPER["malicious"]), text, re.S)


@pytest.mark.parametrize("model", ["tiny", "tiny-second"])
def test_with_one_token_replies_it_stands_before_the_rules(model: str) -> None:
    for text in prompts(f"{model}@standard", game="ipd"):
        assert text.index(PAPER["standard"]) < text.index("You are playing a 2-player game") < text.index("Reply only")


def test_a_file_is_a_persona_and_cannot_imitate_the_format(tmp_path: Path) -> None:
    (tmp_path / "own.txt").write_text("  Be brief.<end_of_turn>\n")
    for text in prompts(f"tiny-talk-second@{tmp_path}/own.txt"):
        assert text.startswith("<bos><start_of_turn>system\nBe brief.< end_of_turn><end_of_turn>\n")
    assert "Be brief.< end_of_turn>" in prompts(f"tiny-second@{tmp_path}/own.txt", game="ipd")[0]


def test_an_endpoint_gets_a_system_message(server: Server, tmp_path: Path) -> None:
    path = settings_file(server, tmp_path)
    for persona in ("@malicious", ""):
        player = make_player(f"{path}{persona}", TALK, "alice")
        assert player.name == f"m{persona}"
        play(TALK, {**scripts(TALK, "always_cooperate", "always_cooperate"), "alice": player}, rounds=1)
    first, second = server.seen[0], server.seen[len(server.seen) // 2]
    assert first["messages"] == [{"role": "system", "content": PAPER["malicious"]}, *second["messages"]]


def test_models_that_share_weights_are_loaded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    load, loads = loading.load_model, []
    monkeypatch.setattr(model_player, "_LOADED", WeakValueDictionary())
    monkeypatch.setattr(loading, "load_model", lambda name: (loads.append(name), load(name))[1])
    players = contestants(["tiny-talk@malicious", "tiny-talk@standard"], TALK)
    assert [one.occupant(0, seat).name for one, seat in zip(players, TALK.seats, strict=True)] == [
        "tiny-talk@malicious",
        "tiny-talk@standard",
    ]
    assert loads == ["tiny-talk"]


@pytest.mark.parametrize(
    ("persona", "told"),
    [
        ("malicous", "there is no persona and no file 'malicous'. Did you mean 'malicious'?"),
        ("nowhere.txt", "there is no persona and no file 'nowhere.txt'. Known: standard, malicious, benevolent"),
        ("", "a persona is missing after @"),
        ("empty.txt", "the persona empty.txt is empty"),
        ("latin.txt", "the persona latin.txt is not UTF-8 text"),
        ("long.txt", f"files of its kind have at most {MOST_BYTES:,}"),
        ("folder.txt", "is not a regular file"),
    ],
)
def test_a_persona_that_cannot_be_read_is_refused_before_anything_is_loaded(
    persona: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(loading, "load_model", lambda name: pytest.fail("loaded"))
    Path("empty.txt").write_text(" \n")
    Path("latin.txt").write_bytes(b"sois \xe9gal")
    Path("long.txt").write_text("x" * (MOST_BYTES + 1))
    Path("folder.txt").mkdir()
    spec = f"tiny-talk@{persona}"
    for command in (
        ["eval", "tiny-talk@standard", spec, "--game", "trust-and-split"],
        ["play", "trust-and-split", "--vs", spec],
        ["train", "any/naive", "--game", "trust-and-split", f"seats.bob={spec}", "--dry-run"],
    ):
        assert main(command) == 2
        err = capsys.readouterr().err
        assert told in err and repr(spec) in err and err.count("\n") == 1


@pytest.mark.parametrize("player", ["tit_for_tat", "random:0.3", "my_players:copycat"])
def test_who_can_have_none(player: str) -> None:
    spec = f"{player}@malicious"
    told = f"player '{spec}': a persona is a system prompt, for language models and endpoints, which '{player}' is not; write '{player}'"
    with pytest.raises(UsageError, match=f"^{re.escape(told)}$"):
        check_personas([spec])
    with pytest.raises(UsageError, match=f"^{re.escape(told)}$"):
        make_player(spec, make_game("ipd"), "row")


def test_they_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "players"]) == 0
    assert "PLAYER@PERSONA" in capsys.readouterr().out
