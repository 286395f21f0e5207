"""The Python face of coplay: games, players, recipes by name or object in, typed results out. ``import coplay`` has all of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from coplay.errors import UsageError
from coplay.evaluation.cross_play import CrossPlay
from coplay.evaluation.exploitability import Exploitability
from coplay.evaluation.match import MatchResult, play_match
from coplay.games import make_game
from coplay.games.catalogue import GameSpec
from coplay.players.named import PlayerSpec
from coplay.run import Run
from coplay.runs.config import Config
from coplay.runs.occupants import occupant_of
from coplay.tasks.executors import TaskExecutor
from coplay.tracking.sink import Sink, TrialRecord


def match(
    game: GameSpec,
    *players: PlayerSpec,
    rounds: int | None = None,
    episodes: int = 100,
    seed: int = 0,
) -> MatchResult:
    """Play games between players.

    Args:
        game: the game, by name or object; see :func:`coplay.make_game`.
        players: one for each seat, in the game's order.
        rounds: most rounds of a game; by default the game's own.
        episodes: number of games.
        seed: the seed; the same one gives the same games.

    Returns:
        The games, with ``summary()``, ``table()``, ``to_dict()`` and ``to_frame()``.

    Raises:
        UsageError: for unknown names, or another number of players than seats.

    Example:
        >>> result = match("ipd", "tit_for_tat", "always_defect", rounds=20, episodes=2)
        >>> result.summary()["seats"]["row"]["total"]
        19.0
    """
    rules = make_game(game)
    rules = rules.lasting(rounds or rules.rounds)
    if len(players) != len(rules.seats):
        raise UsageError(
            f"game {rules.name!r} has {len(rules.seats)} seats ({', '.join(rules.seats)}), got {len(players)} players"
        )
    seated = {seat: occupant_of(one, rules, seat) for seat, one in zip(rules.seats, players, strict=True)}
    return play_match(rules, seated, rounds=rounds or rules.rounds, episodes=episodes, seed=seed)


def cross_play(
    game: GameSpec,
    players: Sequence[PlayerSpec],
    *,
    rounds: int | None = None,
    episodes: int = 100,
    seed: int = 0,
    executor: str | TaskExecutor = "local",
    parts: str | Path | None = None,
) -> CrossPlay:
    """Play all pairs of players, each with itself too, with seats swapped.

    Args:
        game: the game, by name or object.
        players: by name or object; what runs have learnt is played with all its seeds.
        rounds: most rounds of a game; by default the game's own.
        episodes: number of games for each seating.
        seed: the seed of the first replicate; the others follow.
        executor: who plays: ``local``, this process, ``ray``, a cluster, or a :class:`coplay.RayCluster`, which needs names instead of objects.
        parts: where a cluster's tasks write what they found, until all is there; on storage that its machines share.

    Returns:
        Who gets how much per round from whom, with ``interval(i, j)``, ``table()``, ``to_dict()`` and ``to_frame()``.

    Example:
        >>> found = cross_play("ipd", ["tit_for_tat", "always_defect"], rounds=10, episodes=1)
        >>> found.interval(1, 0).mean
        1.3
    """
    from coplay.runs.contestants import all_meet, contestants
    from coplay.runs.cross_play_tasks import Matrix, check_sendable, meetings_by
    from coplay.runs.sent_players import sent_game
    from coplay.tasks.named import executor_of

    rules = make_game(game)
    rules = rules.lasting(rounds or rules.rounds)
    by = executor_of(executor)
    if by.is_elsewhere:
        check_sendable(game, players, parts)
    found = contestants(list(players), rules)
    for one in found:
        missing = [seat for seat in rules.seats if seat not in one.seats]
        if missing:
            raise UsageError(
                f"{one.name} learnt to play as {' or '.join(one.seats)}, and cross-play seats it as {missing[0]} too"
            )
    meetings = None
    if by.is_elsewhere and parts is not None:
        names = tuple(one.name for one in found)
        matrix = Matrix(sent_game(game), names, rounds or rules.rounds, episodes, (seed,))
        meetings = meetings_by(by, matrix, found, Path(parts), quiet=True)
    return all_meet(found, rules, rounds=rounds or rules.rounds, episodes=episodes, seed=seed, meetings=meetings)


def exploit(
    game: GameSpec,
    player: PlayerSpec,
    *,
    rounds: int | None = None,
    samples: int = 100,
    trials: int = 60,
    seed: int = 0,
) -> Exploitability:
    """How much a best response gets from a player: exact where the game can be enumerated, else bounded from below by trained exploiters.

    Args:
        game: the game, by name or object.
        player: the player, in every seat that it can sit in.
        rounds: most rounds of an episode; by default the game's own.
        samples: replies at each information set, of a player that does not tell its probabilities.
        trials: how long each exploiter is trained where the game cannot be enumerated.
        seed: of sampled replies.

    Returns:
        The values, with ``kind``, ``value``, ``best_response``, ``nash_conv``, ``table()`` and ``to_dict()``; payoffs are per round.

    Raises:
        UsageError: if it can neither be enumerated nor learnt by a table, saying why.

    Example:
        >>> found = exploit("kuhn", "always_bet")
        >>> found.kind, round(found.nash_conv, 3)
        ('exact', 0.667)
    """
    from coplay.runs.contestants import contestants
    from coplay.runs.exploit import exploitability
    from coplay.runs.exploiter import Budget

    rules = make_game(game)
    rules = rules.lasting(rounds or rules.rounds)
    (found,) = contestants([player], rules)
    return exploitability(
        rules,
        found.name,
        {seat: found.occupant(0, seat) for seat in found.seats},
        rounds=rounds or rules.rounds,
        samples=samples,
        budget=Budget(trials=trials),
        seed=seed,
    )


# ---------------------------------------------------------------------- training


def train(
    recipe: str | Config,
    *overrides: str,
    out: str | Path,
    learner: str = "language_model",
    scale: str = "tiny",
    game: GameSpec | None = None,
    quiet: bool = True,
    track: Sequence[str | Sink] = (),
    on_trial: Callable[[TrialRecord], None] | None = None,
    executor: str | TaskExecutor = "local",
    **settings: object,
) -> Run:
    """Train a recipe into a new run directory.

    Args:
        recipe: a name from ``coplay list recipes``, or a complete config.
        overrides: settings as on the command line, e.g. ``"row.ppo.learning_rate=1e-5"``.
        out: the run directory; an existing one is refused.
        learner: ``language_model`` or ``tabular``, for a recipe's name.
        scale: ``tiny`` or ``paper``, for a recipe's name.
        game: another game than the recipe's.
        quiet: whether to show no progress.
        track: trackers, by name (``tensorboard``, ``trackio``, ``wandb``) or as a :class:`coplay.Sink`; one that fails is left out with a line on
            standard error.
        on_trial: is called after every trial with the record of each seed that ``metrics.jsonl`` gets: ``step``, ``seed`` and the metrics.
        executor: who trains it: ``local``, this process, ``ray``, a cluster, or a :class:`coplay.RayCluster`.
        settings: top-level settings, e.g. ``trials=10, seeds=(0, 1)``.

    Raises:
        UsageError: for anything wrong with the config, the directory or the cluster, before anything is written.
    """
    from coplay.recipes import make_config
    from coplay.runs.config_input import parse_config, with_overrides, with_values
    from coplay.runs.tasks import train_by
    from coplay.tasks.named import executor_of
    from coplay.tracking.sink import Callback
    from coplay.tracking.trackers import sinks_for

    told = [*track, *([] if on_trial is None else [Callback(on_trial)])]
    sinks_for(told)  # finds what is missing
    config = recipe
    if isinstance(config, str):
        config = make_config(config, scale=scale, learner=learner, game=game)  # type: ignore[arg-type]
    config = with_values(with_overrides(parse_config(config.model_dump(mode="json")), list(overrides)), settings)
    run = train_by(executor_of(executor), config, Path(out), quiet=quiet, track=told)
    return Run(run.path, run.config)


def make_config(
    recipe: str,
    *overrides: str,
    learner: str = "language_model",
    scale: str = "tiny",
    game: GameSpec | None = None,
    **settings: object,
) -> Config:
    """The config of a recipe, with settings changed; see :func:`train`.

    Example:
        >>> make_config("shapellm/ipd", "row.ppo.clip=0.1", trials=3).trials
        3
    """
    from coplay.recipes import make_config as of_recipe
    from coplay.runs.config_input import with_overrides, with_values

    config = of_recipe(recipe, scale=scale, learner=learner, game=game)  # type: ignore[arg-type]
    return with_values(with_overrides(config, list(overrides)), settings)


def to_config(settings: Mapping[str, object]) -> Config:
    """A complete config from a mapping, e.g. one read from JSON; an older version is translated.

    Raises:
        UsageError: one line a problem.
    """
    from coplay.runs.config_input import parse_config

    return parse_config(settings)
