"""What runs have learnt, as players: ``RUN``, ``RUN:SEED``, ``RUN:LEARNER`` and ``RUN:LEARNER:SEED``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coplay.errors import UsageError, unknown
from coplay.games import make_game
from coplay.games.base import Game
from coplay.games.records import Occupant
from coplay.players.model_player import names_model
from coplay.players.named import make_player
from coplay.players.scripted import is_script
from coplay.runs.config import Config
from coplay.runs.config_input import with_values
from coplay.runs.directory import RunDirectory


@dataclass(frozen=True)
class RunSpec:
    """What ``RUN[:LEARNER][:SEED]`` names."""

    path: Path
    """The run's directory."""
    learner: str | None
    """The learner that is named; None if none is."""
    seed: int | None
    """The seed that is named; None if none is."""


def parse_run(spec: str) -> RunSpec | None:
    """The parts of a run's name; None if there is no such directory."""
    if is_script(spec) or names_model(spec):
        return None
    head = spec
    parts: list[str] = []
    while True:
        path = Path(head).expanduser()
        if path.is_dir():
            break
        head, colon, last = head.rpartition(":")
        if not colon or len(parts) == 2:
            return None
        parts.insert(0, last)
    seed = int(parts.pop()) if parts and parts[-1].isdecimal() else None
    if len(parts) > 1:
        return None
    return RunSpec(path, parts[0] if parts else None, seed)


@dataclass(frozen=True)
class TrainedLearner:
    """A learner of a finished run, and which of its seeds are meant."""

    spec: str
    """As the user named it."""
    path: Path
    """The run's directory."""
    config: Config
    """What was run."""
    learner: str
    """The learner's name in the run."""
    seeds: tuple[int, ...]
    """All its seeds, or the one that is named."""

    def adapter(self, seed: int) -> Path:
        """The directory of what a seed has learnt, in PEFT's format; tables have none."""
        return self.path / "adapters" / f"{self.learner}-seed{seed}"

    @property
    def seats(self) -> tuple[str, ...]:
        """The seats that it learnt to sit in."""
        if self.config.rotate_seats:
            return tuple(self.config.seats)
        return tuple(seat for seat, who in self.config.seats.items() if self.learner in who)

    @property
    def is_table(self) -> bool:
        """Whether it is a table."""
        return self.config.learners[self.learner].policy == "tabular"

    @property
    def model(self) -> tuple[Any, ...]:
        """Learners that are alike in this can share a model and a bank."""
        config = self.config
        return (config.model, config.four_bit, config.chat, config.adapter)


def trained_learner(spec: str, game: Game) -> TrainedLearner:
    """Find what a run has learnt.

    Args:
        spec: ``RUN``, ``RUN:SEED``, ``RUN:LEARNER`` or ``RUN:LEARNER:SEED``.
        game: the game that it is to play: the one that it learnt, or one with the same seats and actions.

    Raises:
        UsageError: if there is no such run, learner or seed, it learnt another game, or it is not finished.
    """
    found = parse_run(spec)
    if found is None:
        raise UsageError(f"there is no run directory {spec}")
    config = RunDirectory.open(found.path).config
    names = list(config.learners)
    if found.learner is None and len(names) > 1:
        raise UsageError(
            f"{spec} is a directory; name one learner of the run: {' or '.join(f'{spec}:{name}' for name in names)}"
        )
    learner = found.learner or names[0]
    if learner not in names:
        raise unknown(f"learner of {found.path}", learner, names)
    learnt = make_game(config.game)
    if learnt.name != game.name and not _alike(learnt, game):
        raise UsageError(f"{spec} learnt {learnt.name!r}, whose seats or actions are not those of {game.name!r}")
    if found.seed is not None and found.seed not in config.seeds:
        raise UsageError(f"{spec}: the run has seeds {', '.join(map(str, config.seeds))}")
    seeds = config.seeds if found.seed is None else (found.seed,)
    trained = TrainedLearner(spec, found.path, config, learner, seeds)
    if not trained.is_table and not (found.path / "adapters").is_dir():
        raise UsageError(
            f"{found.path} is not finished: it has no adapters yet; resume it with: coplay train --resume {found.path}"
        )
    return trained


def _alike(one: Game, other: Game) -> bool:
    return one.actions is not None and one.seats == other.seats and one.actions == other.actions


@dataclass(frozen=True)
class Contestant:
    """Somebody who can be seated in an evaluation."""

    name: str
    """As the user named it."""
    seeds: tuple[int, ...]
    """The seeds it was trained on; none for one that is not trained."""
    seats: tuple[str, ...]
    """The seats it can fill."""
    occupant: Callable[[int, str], Occupant]
    """From the replicate and the seat to the occupant: of a run, that of its i-th seed."""


def contestants(specs: Sequence[str], game: Game, *, temperature: float | None = None) -> list[Contestant]:
    """Find and load players. Runs of one model share its weights.

    Args:
        specs: a player as :func:`coplay.players.named.make_player` takes it, or what a run has learnt.
        game: the game they are to play.
        temperature: at which trained players sample text; None for each run's own, at which it was trained.

    Raises:
        UsageError: for what is neither, or a run of another game.
    """
    runs = {spec: trained_learner(spec, game) for spec in dict.fromkeys(specs) if parse_run(spec) is not None}
    occupants = _occupants(runs, game, temperature)
    found = []
    for spec in specs:
        if spec in runs:
            own = runs[spec]
            seats = game.seats if _may_change_seats(own, game) else own.seats
            found.append(Contestant(spec, own.seeds, seats, occupants[spec]))
        else:
            found.append(_untrained(spec, game))
    return found


def _may_change_seats(own: TrainedLearner, game: Game) -> bool:
    return len(own.seats) > 1 or bool(getattr(game, "is_symmetric", False))


def _untrained(spec: str, game: Game) -> Contestant:
    players: dict[str, Any] = {}

    def occupant(replicate: int, seat: str) -> Occupant:
        if seat not in players:
            players[seat] = make_player(spec, game, seat)
        return Occupant(players[seat], spec)

    make_player(spec, game, game.seats[0])  # errors come now
    return Contestant(spec, (), tuple(game.seats), occupant)


def _occupants(
    runs: Mapping[str, TrainedLearner], game: Game, temperature: float | None
) -> dict[str, Callable[[int, str], Occupant]]:
    """For every run, from the i-th of its seeds and a seat to the occupant. Each model is loaded once."""
    occupants: dict[str, Callable[[int, str], Occupant]] = {}
    for spec, own in runs.items():
        if own.is_table:
            occupants[spec] = _table_occupant(own, game)
    models = [own for own in runs.values() if not own.is_table]
    for kind in dict.fromkeys(own.model for own in models):
        occupants |= _model_occupants([own for own in models if own.model == kind], game, temperature)
    return occupants


def _table_occupant(own: TrainedLearner, game: Game) -> Callable[[int, str], Occupant]:
    from coplay.runs.train import trained

    state = trained(own.path)
    learner = state.learners[own.learner]

    def occupant(replicate: int, seat: str) -> Occupant:
        seed = own.seeds[replicate % len(own.seeds)]
        player = _InSeat(learner.player, own.seats[0]) if seat not in own.seats else learner.player
        return Occupant(player, f"{own.spec} (seed {seed})", learner.slots[seed])

    return occupant


def _model_occupants(
    alike: Sequence[TrainedLearner], game: Game, temperature: float | None
) -> dict[str, Callable[[int, str], Occupant]]:
    from coplay.models.bank import REFERENCE, AdapterBank, SlotName
    from coplay.models.loading import load_model
    from coplay.models.scoring import Scorer
    from coplay.runs.factory import language_policy

    config = alike[0].config
    loaded = load_model(config.model, four_bit=config.four_bit, chat=config.chat)
    names = [SlotName(own.spec, seed) for own in alike for seed in own.seeds]
    adapter = config.adapter
    bank = AdapterBank(loaded.model, names, rank=adapter.rank, alpha=adapter.alpha, targets=adapter.targets)
    scorer = Scorer(loaded.model, bank)
    found: dict[str, Callable[[int, str], Occupant]] = {}
    for own in alike:
        for seed in own.seeds:
            bank.import_peft(names.index(SlotName(own.spec, seed)), own.adapter(seed))
        run = own.config
        if temperature is not None:
            run = with_values(run, {f"learners.{own.learner}.temperature": temperature})
        policy = language_policy(run, own.learner, game, loaded, scorer, reference=REFERENCE)

        def occupant(replicate: int, seat: str, own: TrainedLearner = own, policy: Any = policy) -> Occupant:
            seed = own.seeds[replicate % len(own.seeds)]
            player = policy if seat in own.seats else _InSeat(policy, own.seats[0])
            return Occupant(player, f"{own.spec} (seed {seed})", names.index(SlotName(own.spec, seed)))

        found[own.spec] = occupant
    return found


@dataclass(frozen=True)
class _InSeat:
    """A player that is asked as from the seat where it learnt; in a symmetric game it cannot tell one seat from another."""

    player: Any
    seat: str

    @property
    def name(self) -> str:
        return str(self.player.name)

    @property
    def memory(self) -> Any:
        return self.player.memory

    def act(self, requests: Sequence[Any]) -> list[Any]:
        from dataclasses import replace

        replies: list[Any] = self.player.act([replace(request, seat=self.seat) for request in requests])
        return replies
