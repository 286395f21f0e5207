"""``coplay eval``: players in the seats of a game, a trained run, or all pairs of players."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING

from coplay.cli.options import check_plot, executor_from
from coplay.cli.reading import show
from coplay.errors import UsageError
from coplay.games import make_game
from coplay.games.base import Game
from coplay.games.catalogue import config_game, matrix_game
from coplay.games.records import Occupant
from coplay.tasks.executors import TaskExecutor

if TYPE_CHECKING:
    from collections.abc import Mapping

    from coplay.evaluation.cross_play import CrossPlay
    from coplay.evaluation.estimate import Games
    from coplay.evaluation.match import MatchResult
    from coplay.runs.contestants import Contestant
    from coplay.runs.cross_play_tasks import Matrix


def eval_(options: argparse.Namespace) -> int:
    """``coplay eval``."""
    _check(options)
    if options.matrix:
        return _eval_matrix(options)
    for name in ("parts", "address", "cpus", "gpus"):
        if getattr(options, name) is not None:
            raise UsageError(f"--{name} goes with --matrix and --executor ray")
    if options.executor != "local":
        raise UsageError("--executor ray plays all pairs of players; use it with --matrix")
    if options.plot is not None:
        raise UsageError("--plot draws the results of all pairs; use it with --matrix")
    if len(options.players) == 1 and (options.game is None or Path(options.players[0]).is_dir()):
        return _eval_run(options)
    return _eval_players(options)


def _check(options: argparse.Namespace) -> None:
    for name in ("rounds", "episodes"):
        value = getattr(options, name)
        if value is not None and value < 1:
            raise UsageError(f"--{name} must be at least 1, got {value}")
    if not all(player.strip() for player in options.players):
        raise UsageError("eval: a player's name is empty; see coplay list players")
    if options.print_games < 0:
        raise UsageError(f"--print-games must be at least 0, got {options.print_games}")
    if options.temperature is not None and not 0 < options.temperature < float("inf"):
        raise UsageError(f"--temperature must be above 0, got {options.temperature}")
    if options.record is not None and (options.matrix or options.payoffs or len(options.players) == 1):
        raise UsageError("--record keeps games of players that are named for each seat, without --matrix and --payoffs")
    if options.max_tokens is not None and options.max_tokens < 1:
        raise UsageError(f"--max-tokens must be at least 1, got {options.max_tokens}")
    if options.print_games and (options.json or options.matrix or len(options.players) == 1):
        raise UsageError(
            "--print-games prints games of players as text; it does not go with --json, --matrix or a run alone"
            " (coplay report shows a run's games)"
        )


def _eval_run(options: argparse.Namespace) -> int:
    """A trained run, on its own seeds."""
    from coplay.evaluation.estimate_text import tell_estimate
    from coplay.evaluation.tables import diverged_lines, seeds_table
    from coplay.runs.estimate import games_of_evaluation
    from coplay.runs.restore import restored

    path = Path(options.players[0])
    if not path.is_dir():
        raise UsageError(f"eval needs a player for each seat, or one run directory; {path} is not a directory")
    if options.game is not None:
        raise UsageError("a run is evaluated in its own game; leave out --game, or name a player for each seat")
    for name in ("payoffs", "seed", "temperature"):
        if getattr(options, name) is not None:
            raise UsageError(f"a run is evaluated as it was trained, on its own seeds; --{name} is for named players")
    state = restored(path)
    tell_estimate(games_of_evaluation(state.config, rounds=options.rounds, games=options.episodes))
    result = state.evaluate(rounds=options.rounds or state.config.rounds, episodes=options.episodes)
    show(result) if options.json else print(seeds_table(result))
    for line in diverged_lines(result):
        print(f"coplay: {line}", file=sys.stderr)
    return 1 if result.get("diverged") else 0


def _eval_players(options: argparse.Namespace) -> int:
    """Players in the seats, in order."""
    from coplay.evaluation.estimate import Games
    from coplay.evaluation.estimate_text import tell_estimate
    from coplay.evaluation.match import play_match
    from coplay.evaluation.tables import table
    from coplay.play.transcript import numbered, transcript

    game = game_of(options.game, options.players, payoffs=options.payoffs, rounds=options.rounds)
    if len(options.players) != len(game.seats):
        raise UsageError(
            f"game {game.name!r} has {len(game.seats)} seats ({', '.join(game.seats)}), got {len(options.players)} players;"
            " with --matrix any number"
        )
    players = find_players(options, game)
    seated = {seat: seat_player(one, seat, game) for seat, one in zip(game.seats, players, strict=True)}
    rounds = options.rounds or game.rounds
    tell_estimate([Games(game, dict(zip(game.seats, options.players, strict=True)), rounds, options.episodes)])
    if options.record is not None:
        found = _recorded(options, game, seated)
    else:
        found = play_match(game, seated, rounds=rounds, episodes=options.episodes, seed=options.seed or 0)
    result = found.summary()
    show(result) if options.json else print(table(result, game=_called(game, options)))
    if options.print_games:
        print("\n" + numbered([transcript(game, episode) for episode in found.episodes[: options.print_games]]))
    return 0


def _recorded(options: argparse.Namespace, game: Game, seated: Mapping[str, Occupant]) -> MatchResult:
    """Games that are written to a directory; the same command goes on where it was stopped."""
    from coplay.runs.recording import Recording

    asked = {
        "game": options.game or game.name,
        "players": {seat: one.name for seat, one in seated.items()},
        "rounds": options.rounds or game.rounds,
        "seed": options.seed or 0,
        "temperature": options.temperature,
        "max_tokens": options.max_tokens,
    }

    def tell(done: int, episodes: int) -> None:
        print(f"{done} of {episodes} games in {options.record}", file=sys.stderr)

    return Recording.begin(Path(options.record), asked).play(game, seated, options.episodes, tell=tell)


def _eval_matrix(options: argparse.Namespace) -> int:
    """All pairs of players, each with itself too, with seats swapped."""
    from coplay.evaluation.ranking import ranking, ranking_table

    if options.plot is not None:
        check_plot(options.plot)
    executor = executor_from(options)
    if options.parts is not None and not executor.is_elsewhere:
        raise UsageError("--parts goes with --executor ray")
    game = game_of(options.game, options.players, payoffs=options.payoffs, rounds=options.rounds)
    found = _cross_play(options, game, executor)
    ranks = ranking(found)
    if options.json:
        show({**found.to_dict(), "ranking": [one.to_dict() for one in ranks]})
    else:
        print(f"{found.table(game=_called(game, options))}\n\n{ranking_table(ranks)}")
    if options.plot is not None:
        from coplay.report.canvas import save_as
        from coplay.report.heat_map import cross_play_map, heat_map_figure

        shown = replace(found, game=_called(game, options))
        save_as(Path(options.plot), heat_map_figure([cross_play_map(shown)]))
        print(f"wrote {options.plot}")
    return 0


def _called(game: Game, options: argparse.Namespace) -> str:
    """The game as a table's header names it."""
    return game.name if options.payoffs is None else f"{game.name} with payoffs {options.payoffs.replace(' ', '')}"


def _cross_play(options: argparse.Namespace, game: Game, executor: TaskExecutor) -> CrossPlay:
    from coplay.evaluation.estimate_text import tell_estimate
    from coplay.runs.contestants import all_meet, replicates_of_all

    rounds, episodes, seed = options.rounds or game.rounds, options.episodes, options.seed or 0
    matrix = _sent_matrix(options, game, executor) if executor.is_elsewhere else None
    players = find_players(options, game)
    for one in players:
        for seat in game.seats:
            seat_player(one, seat, game, matrix=True)
    names = [one.name for one in players]
    tell_estimate(_games_of_pairs(game, names, rounds, episodes * replicates_of_all(players)))
    meetings = None
    if matrix is not None:
        from coplay.runs.cross_play_tasks import meetings_by

        meetings = meetings_by(executor, matrix, players, Path(options.parts))
    return all_meet(players, game, rounds=rounds, episodes=episodes, seed=seed, meetings=meetings)


def _sent_matrix(options: argparse.Namespace, game: Game, executor: TaskExecutor) -> Matrix:
    """All pairs as they are sent to a cluster, which is looked at; raises UsageError for what cannot be sent."""
    from coplay.runs.cross_play_tasks import Matrix, check_sendable

    named = game_named(options.game, options.players) if options.payoffs is None else config_game(game)
    check_sendable(named, options.players, options.parts)
    executor.prepare(Path(options.parts).parent)
    return Matrix(
        named,
        tuple(options.players),
        options.rounds or game.rounds,
        options.episodes,
        (options.seed or 0,),
        temperature=options.temperature,
        max_tokens=options.max_tokens,
    )


def _games_of_pairs(game: Game, names: list[str], rounds: int, episodes: int) -> list[Games]:
    """The games of :func:`_cross_play`, as :func:`coplay.evaluation.meetings.swapped_payoffs` seats them."""
    from coplay.evaluation.estimate import Games

    lineups = [dict.fromkeys(game.seats, name) for name in names]
    for one, other in permutations(names, 2):
        if len(game.seats) > 2 or names.index(one) < names.index(other):
            lineups += [{seat: one if seat == alone else other for seat in game.seats} for alone in game.seats]
    return [Games(game, lineup, rounds, episodes) for lineup in lineups]


def game_named(name: str | None, players: list[str]) -> str | dict[str, object]:
    """The game that is named; else that of the first run among the players; else the IPD."""
    if name is not None:
        return name
    from coplay.runs.directory import RunDirectory
    from coplay.runs.trained import parse_run

    runs = [run for run in map(parse_run, players) if run is not None]
    return RunDirectory.open(runs[0].path).config.game if runs else "ipd"


def game_of(name: str | None, players: list[str], *, payoffs: str | None = None, rounds: int | None = None) -> Game:
    """The game of :func:`game_named`, of so many rounds and with these payoffs."""
    game = make_game(game_named(name, players))
    if rounds is not None:
        game = game.lasting(rounds)
    if payoffs is None:
        return game
    try:
        numbers = [float(part) for part in payoffs.split(",")]
    except ValueError:
        raise UsageError(f"--payoffs takes numbers separated by commas, e.g. 3,0,5,1; got {payoffs!r}") from None
    before = matrix_game(game, what="--payoffs")
    found = before.with_payoffs(numbers)
    if before.zero_sum and not found.zero_sum:
        told = f"{game.name} is zero-sum, but not with --payoffs {payoffs}: they are row's, and column's are those of the mirrored joint actions"
        print(f"coplay: {told}", file=sys.stderr)
    return found


def find_players(options: argparse.Namespace, game: Game) -> list[Contestant]:
    """The players that are named."""
    from coplay.runs.contestants import contestants
    from coplay.runs.trained import parse_run

    if options.temperature is not None and not any(parse_run(spec) for spec in options.players):
        raise UsageError("--temperature is how trained players sample replies in text; no player here is a run")
    max_tokens = getattr(options, "max_tokens", None)
    return contestants(options.players, game, temperature=options.temperature, max_tokens=max_tokens)


def seat_player(player: Contestant, seat: str, game: Game, *, matrix: bool = False) -> Occupant:
    """A player in a seat, with its first seed; raises UsageError if it learnt to play in another one."""
    if seat not in player.seats:
        learnt = " or ".join(player.seats)
        example = " ".join(player.name if one == player.seats[0] else "PLAYER" for one in game.seats)
        why = (
            f"--matrix seats everybody in every seat, which differ in {game.name!r}; name a player for each seat instead:"
            f" coplay eval {example} --game {game.name}"
            if matrix
            else f"name it as {learnt}'s player"
        )
        raise UsageError(f"{player.name} learnt to play as {learnt}; {why}")
    return player.occupant(0, seat)
