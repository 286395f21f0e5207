"""The Python face of coplay: games, players, recipes by name or object in, typed results out. ``import coplay`` has all of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from coplay.errors import UsageError
from coplay.evaluation.cross_play import CrossPlay
from coplay.evaluation.exploitability import Exploitability
from coplay.evaluation.match import MatchResult, play_match, swapped_payoffs
from coplay.evaluation.summary import Aggregate
from coplay.games import make_game
from coplay.games.catalogue import GameSpec
from coplay.games.records import EpisodeRecord
from coplay.players.named import PlayerSpec
from coplay.runs.config import Config
from coplay.runs.occupants import occupant_of

if TYPE_CHECKING:
    import pandas

    from coplay.runs.directory import RunDirectory


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
    game: GameSpec, players: Sequence[str], *, rounds: int | None = None, episodes: int = 100, seed: int = 0
) -> CrossPlay:
    """Play all pairs of players, each with itself too, with seats swapped.

    Args:
        game: the game, by name or object.
        players: names of players; what runs have learnt is played with all its seeds.
        rounds: most rounds of a game; by default the game's own.
        episodes: number of games for each seating.
        seed: the seed of the first replicate; the others follow.

    Returns:
        Who gets how much per round from whom, with ``interval(i, j)``, ``table()``, ``to_dict()`` and ``to_frame()``.

    Example:
        >>> found = cross_play("ipd", ["tit_for_tat", "always_defect"], rounds=10, episodes=1)
        >>> found.interval(1, 0).mean
        1.3
    """
    from coplay.evaluation.cross_play import cross_play as play_all
    from coplay.evaluation.cross_play import replicates_of
    from coplay.runs.contestants import contestants

    rules = make_game(game)
    rules = rules.lasting(rounds or rules.rounds)
    found = contestants(list(players), rules)
    for one in found:
        missing = [seat for seat in rules.seats if seat not in one.seats]
        if missing:
            raise UsageError(
                f"{one.name} learnt to play as {' or '.join(one.seats)}, and cross-play seats it as {missing[0]} too"
            )
    length = rounds or rules.rounds

    def meeting(first: int, second: int, replicate: int) -> tuple[list[float], list[float]]:
        a = {seat: found[first].occupant(replicate, seat) for seat in rules.seats}
        b = a if first == second else {seat: found[second].occupant(replicate, seat) for seat in rules.seats}
        return swapped_payoffs(rules, a, b, rounds=length, episodes=episodes, seed=seed + replicate)

    replicates = replicates_of([one.seeds for one in found], players)
    return play_all(list(players), meeting, game=rules.name, rounds=length, episodes=episodes, replicates=replicates)


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
    if isinstance(player, str):
        (found,) = contestants([player], rules)
        name, seated = player, {seat: found.occupant(0, seat) for seat in found.seats}
    else:
        seated = {seat: occupant_of(player, rules, seat) for seat in rules.seats}
        name = seated[rules.seats[0]].name
    return exploitability(
        rules,
        name,
        seated,
        rounds=rounds or rules.rounds,
        samples=samples,
        budget=Budget(trials=trials),
        seed=seed,
    )


# ---------------------------------------------------------------------- training


@dataclass(frozen=True)
class Run:
    """A run directory, read."""

    path: Path
    """The directory."""
    config: Config
    """What was run."""

    @property
    def evaluation(self) -> Aggregate | None:
        """The evaluation after training, over seeds; None if there is none yet."""
        run = self._directory()
        return run.evaluation() if run.store.has("eval.json") else None

    @property
    def metrics(self) -> list[dict[str, float | str]]:
        """One record for each trial and seed, with ``step``, ``seed`` and metrics such as ``reward/row``."""
        return list(self._directory().metrics())

    @property
    def episodes(self) -> list[EpisodeRecord]:
        """Complete games, a sample."""
        return cast("list[EpisodeRecord]", self._directory().episodes())

    def _directory(self) -> RunDirectory:
        from coplay.runs.directory import RunDirectory

        return RunDirectory.open(self.path)

    def players(self) -> Iterator[str]:
        """Names of what the run has learnt, for :func:`match` and :func:`cross_play`: ``RUN:LEARNER:SEED``; not of seeds that have diverged."""
        from coplay.evaluation.summary import diverged_seeds

        diverged = {} if self.evaluation is None else diverged_seeds(self.evaluation)
        for learner in self.config.learners:
            for seed in self.config.seeds:
                if seed not in diverged:
                    yield f"{self.path}:{learner}:{seed}"

    def table(self) -> str:
        """The evaluation as text for a person."""
        from coplay.evaluation.tables import seeds_table

        found = self.evaluation
        return "not evaluated yet" if found is None else seeds_table(found)

    def report(self) -> Path:
        """Write the report page and return its path."""
        from coplay.experiments.summary import report_on

        return report_on([self.path], self.path)

    def to_dict(self) -> dict[str, object]:
        """Config and evaluation as plain data."""
        return {"path": str(self.path), "config": self.config.model_dump(mode="json"), "evaluation": self.evaluation}

    def to_frame(self) -> pandas.DataFrame:
        """The metrics as a data frame, a row for each trial and seed; needs pandas."""
        from coplay.terminal.tables import frame

        return frame(self.metrics)


def train(
    recipe: str | Config,
    *overrides: str,
    out: str | Path,
    learner: str = "language_model",
    scale: str = "tiny",
    game: GameSpec | None = None,
    quiet: bool = True,
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
        settings: top-level settings, e.g. ``trials=10, seeds=(0, 1)``.

    Raises:
        UsageError: for anything wrong with the config or the directory, before anything is written.
    """
    from coplay.recipes import make_config
    from coplay.runs.config_input import parse_config, with_overrides, with_values
    from coplay.runs.train import train as train_run
    from coplay.terminal.progress import Progress

    config = recipe
    if isinstance(config, str):
        config = make_config(config, scale=scale, learner=learner, game=game)  # type: ignore[arg-type]
    config = with_values(with_overrides(parse_config(config.model_dump(mode="json")), list(overrides)), settings)
    run = train_run(config, Path(out), progress=Progress(quiet=quiet))
    return Run(run.path, run.config)


def load_run(path: str | Path) -> Run:
    """Read a run directory; raises UsageError if it is none."""
    from coplay.runs.directory import RunDirectory

    run = RunDirectory.open(Path(path))
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
