"""Games of a mediator as text: who read what."""

from coplay.evaluation.match import play_match
from coplay.games import make_game
from coplay.games.mediation_words import addressed
from coplay.games.records import Episode, Occupant
from coplay.play.transcript import transcript
from coplay.players.named import make_player


def played(spec: str, *names: str, rounds: int = 5) -> Episode:
    game = make_game(spec)
    seated = {seat: Occupant(make_player(name, game, seat), name) for seat, name in zip(game.seats, names, strict=True)}
    return play_match(game, seated, rounds=rounds, episodes=1, seed=0).episodes[0]


PLAYERS = ("always_cooperate", "always_defect", "always_defect")


def test_a_transcript_says_who_read_what() -> None:
    game = make_game("ipd-3:talk=0+mediator:count=2")
    episode = played("ipd-3:talk=0+mediator:count=2", *PLAYERS, "always_intervene", rounds=3)
    lines = transcript(game, episode).splitlines()
    assert lines[1].split()[:3] == ["1", "mediator", "intervene"]  # it acts first
    assert any(line.startswith("mediator to player-1 (round 1)") for line in lines)
    text = addressed(episode.rounds[0].acts[0].action)["player-1"]
    assert all(f"  {line}" in lines for line in text.splitlines())


def test_equal_texts_are_written_once() -> None:
    game = make_game("ipd-3:talk=0+mediator:targets=everyone")
    episode = played("ipd-3:talk=0+mediator:targets=everyone", "uniform", "uniform", "uniform", "always_intervene")
    shown = transcript(game, episode)
    texts = {text for one in episode.rounds for text in addressed(one.acts[0].action).values()}
    assert shown.count("STRATEGIC ANALYSIS") == len(texts) < 15
    assert "player-1 (round 1), player-2 (round 1) and player-3 (round 1)" in shown


def test_silence() -> None:
    game = make_game("ipd-3:talk=0+mediator")
    assert "mediator to" not in transcript(game, played("ipd-3:talk=0+mediator", *PLAYERS, "never"))
