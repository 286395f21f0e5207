"""``coplay eval``: two players meet, a trained pair meets again, or everybody meets everybody."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from coplay.cli.options import check_plot
from coplay.cli.reading import show
from coplay.errors import UsageError
from coplay.games import MatrixGame, make_game
from coplay.games.matrix import ROW, SEATS
from coplay.games.rounds import ALICE, BOB
from coplay.text.rounds import WORDED, Worded

if TYPE_CHECKING:
    from coplay.cross_play import CrossPlay
    from coplay.players.base import Player


def eval_(options: argparse.Namespace) -> int:
    """``coplay eval``."""
    for name in ("rounds", "episodes"):
        value = getattr(options, name)
        if value is not None and value < 1:
            raise UsageError(f"--{name} must be at least 1, got {value}")
    if options.show < 0:
        raise UsageError(f"--show must be at least 0, got {options.show}")
    if options.temperature is not None:
        _check_temperature(options)
    if options.show and (options.json or options.matrix or len(options.players) == 1):
        raise UsageError(
            "--show prints games of two players as text; it does not go with --json, --matrix or a run alone"
            " (coplay report shows a run's games)"
        )
    if options.matrix:
        return _eval_matrix(options)
    if options.plot is not None:
        raise UsageError("--plot draws who got what from whom; it goes with --matrix")
    if len(options.players) > 2:
        raise UsageError(
            f"eval takes one run directory or two players, got {len(options.players)}; with --matrix any number"
        )
    if len(options.players) == 1:
        return _eval_run(options)
    if options.game in WORDED:
        return _eval_rounds(options, WORDED[options.game])
    from coplay.evaluate import match, summary
    from coplay.tables import table
    from coplay.transcript import matrix_transcript, transcripts

    game = _game(options)
    players = {seat: player_of(spec, game, seat) for seat, spec in zip(SEATS, options.players, strict=True)}
    rounds = options.rounds or game.rounds
    found = match(game, players, rounds=rounds, episodes=options.episodes, seed=options.seed or 0)
    result = summary(found)
    show(result) if options.json else print(table(result))
    if options.show:
        print("\n" + transcripts([matrix_transcript(game, episode) for episode in found.episodes[: options.show]]))
    return 0


def _eval_run(options: argparse.Namespace) -> int:
    from coplay.tables import seeds_table
    from coplay.train import trained

    path = Path(options.players[0])
    if not path.is_dir():
        raise UsageError(f"eval needs two players, or one run directory; {path} is no directory")
    if options.payoffs is not None or options.game is not None:
        raise UsageError("a run is evaluated in its own game; --game and --payoffs go with two players")
    if options.seed is not None:
        raise UsageError("a run is evaluated on its own seeds; --seed goes with two players")
    arena = trained(path)
    rounds = options.rounds or arena.config.rounds
    result = arena.evaluate(rounds=rounds, episodes=options.episodes)
    show(result) if options.json else print(seeds_table(result))
    return 0


def _eval_rounds(options: argparse.Namespace, words: Worded) -> int:
    """Two players of a game in rounds, the first as alice."""
    from coplay.rounds.agents import agents_of
    from coplay.rounds.evaluate import match_rounds, summary_of_rounds
    from coplay.tables import table
    from coplay.transcript import round_transcript, transcripts

    _refuse_payoffs(options)
    agents = agents_of(options.players, words, temperature=options.temperature)
    players = {seat: agent.player(0) for seat, agent in zip((ALICE, BOB), agents, strict=True)}
    games = match_rounds(
        words,
        players,
        seed=options.seed or 0,
        rounds=options.rounds or words.game.rounds,
        episodes=options.episodes,
    )
    result = summary_of_rounds(words, games, {seat: player.name for seat, player in players.items()})
    show(result) if options.json else print(table(result))
    if options.show:
        print("\n" + transcripts([round_transcript(words, game) for game in games[: options.show]]))
    return 0


def _eval_matrix(options: argparse.Namespace) -> int:
    """Everybody meets everybody and itself, with seats swapped."""
    if options.plot is not None:
        check_plot(options.plot)
    found = _rounds_matrix(options, WORDED[options.game]) if options.game in WORDED else _matrix_games_matrix(options)
    show(found.as_json()) if options.json else print(found.table())
    if options.plot is not None:
        from coplay.report.canvas import save_as
        from coplay.report.heat_map import cross_play_map, heat_map_figure

        save_as(Path(options.plot), heat_map_figure([cross_play_map(found)]))
    return 0


def _rounds_matrix(options: argparse.Namespace, words: Worded) -> CrossPlay:
    from coplay.cross_play import cross_play, replicates_of
    from coplay.rounds.agents import agents_of
    from coplay.rounds.evaluate import meet

    _refuse_payoffs(options)
    agents = agents_of(options.players, words, temperature=options.temperature)
    rounds, episodes, seed = options.rounds or words.game.rounds, options.episodes, options.seed or 0

    def meeting(first: int, second: int, replicate: int) -> tuple[list[float], list[float]]:
        pair = (agents[first].player(replicate), agents[second].player(replicate))
        return meet(words, *pair, seed=seed + replicate, rounds=rounds, episodes=episodes)

    names = [agent.name for agent in agents]
    replicates = replicates_of([agent.seeds for agent in agents], names)
    return cross_play(names, meeting, game=words.game.name, rounds=rounds, episodes=episodes, replicates=replicates)


def _matrix_games_matrix(options: argparse.Namespace) -> CrossPlay:
    from coplay.cross_play import cross_play
    from coplay.evaluate import meet

    game = _game(options)
    rounds, episodes, seed = options.rounds or game.rounds, options.episodes, options.seed or 0
    players = [in_both_seats(spec, game) for spec in options.players]

    def meeting(first: int, second: int, _: int) -> tuple[list[float], list[float]]:
        return meet(game, players[first], players[second], rounds=rounds, episodes=episodes, seed=seed)

    return cross_play(options.players, meeting, game=game.name, rounds=rounds, episodes=episodes, replicates=1)


def _check_temperature(options: argparse.Namespace) -> None:
    if not 0 < options.temperature < float("inf"):
        raise UsageError(f"--temperature must be above 0, got {options.temperature}")
    if options.game not in WORDED or (len(options.players) == 1 and not options.matrix):
        raise UsageError(
            f"--temperature is for players who meet in a game with text: --game {', '.join(WORDED)};"
            " a run alone is evaluated as it was trained"
        )


def _refuse_payoffs(options: argparse.Namespace) -> None:
    if options.payoffs is not None:
        raise UsageError("--payoffs changes a matrix game; games in rounds have their own")


def _game(options: argparse.Namespace) -> MatrixGame:
    game = make_game(options.game or "ipd", besides=WORDED)
    if options.payoffs is None:
        return game
    try:
        payoffs = [float(part) for part in options.payoffs.split(",")]
    except ValueError:
        raise UsageError(
            f"--payoffs takes numbers separated by commas, e.g. 3,0,5,1; got {options.payoffs!r}"
        ) from None
    return game.with_payoffs(payoffs)


def player_of(spec: str, game: MatrixGame, seat: str) -> Player:
    """A scripted player or a model; or RUN:SEAT, the learner of a run's first seed, or RUN:SEAT:SEED, that of another one."""
    learnt = _learnt(spec)
    if learnt is None:
        return _untrained(spec, game, seat)
    if learnt.seat != seat:
        raise UsageError(f"{spec} learnt to play as {learnt.seat}; name it as {learnt.seat}'s player")
    return _trained(learnt, game)


def _untrained(spec: str, game: MatrixGame, seat: str) -> Player:
    from coplay.players.model_player import model_player, names_model
    from coplay.players.scripted import make_player

    return model_player(spec, game, seat) if names_model(spec) else make_player(spec, game, seat)


def in_both_seats(spec: str, game: MatrixGame) -> dict[str, Player]:
    """A player of :func:`player_of` in each seat. What was trained in one sits in the other as well if the two are alike.

    Raises:
        UsageError: for what was trained, in a game that is not symmetric.
    """
    learnt = _learnt(spec)
    if learnt is None:
        return {seat: _untrained(spec, game, seat) for seat in SEATS}
    if not game.is_symmetric:
        pair = f"{spec} PLAYER" if learnt.seat == ROW else f"PLAYER {spec}"
        raise UsageError(
            f"{spec} learnt to play as {learnt.seat}, and --matrix seats everybody in both seats, which differ in {game.name!r};"
            f" let it meet one player at a time from its own seat: coplay eval {pair}"
        )
    return dict.fromkeys(SEATS, _trained(learnt, game))


@dataclass(frozen=True)
class _Learnt:
    """What RUN:SEAT or RUN:SEAT:SEED names."""

    spec: str
    run: str
    seat: str
    seed: int | None


def _learnt(spec: str) -> _Learnt | None:
    """The parts of RUN:SEAT or RUN:SEAT:SEED; None for another name. Raises UsageError for a run without a seat."""
    from coplay.players.model_player import names_model
    from coplay.players.scripted import PLAYERS

    if names_model(spec):
        return None
    head, _, last = spec.rpartition(":")
    numbered = last.isdecimal() and head.rpartition(":")[2] in SEATS
    run, colon, seat = (head if numbered else spec).rpartition(":")
    if colon and seat in SEATS:
        return _Learnt(spec, run, seat, int(last) if numbered else None)
    if spec not in PLAYERS and Path(spec).is_dir():
        raise UsageError(
            f"{spec} is a directory; of a run of a matrix game name one learner: {spec}:row or {spec}:column"
        )
    return None


def _trained(learnt: _Learnt, game: MatrixGame) -> Player:
    """The learner as its run left it; raises UsageError if it cannot play this game."""
    from coplay.arena import Arena
    from coplay.players.seated import OneSeed
    from coplay.train import trained

    spec = learnt.spec
    arena = trained(Path(learnt.run))
    seed = arena.config.seeds[0] if learnt.seed is None else learnt.seed
    if seed not in arena.config.seeds:
        raise UsageError(f"{spec}: the run has seeds {', '.join(map(str, arena.config.seeds))}")
    if not isinstance(arena, Arena):
        raise UsageError(f"{spec} learnt {arena.words.game.name!r}, which is no matrix game")
    if arena.game.actions != game.actions:
        raise UsageError(f"{spec} learnt {arena.game.name!r}, whose actions are not those of {game.name!r}")
    return OneSeed(arena.players[learnt.seat], seed, learnt.seat)
