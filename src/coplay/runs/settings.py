"""Settings other than those of training in which a finished run is evaluated too: longer games, another game of the same seats, other players."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Setting:
    """One of them."""

    name: str
    """Its name: claims and tables call the evaluation ``ARM@NAME``."""
    file: str
    """The file in the run's directory."""
    rounds: int | None = None
    """Rounds of its games; None for those of the config."""
    changes: Mapping[str, object] = field(default_factory=dict)
    """What else differs from the run's config, as ``key=value`` has it: ``game``, ``seats.SEAT``."""

    @classmethod
    def of_length(cls, rounds: int) -> Setting:
        """Games of another length."""
        return cls(str(rounds), f"eval-T{rounds}.json", rounds)

    @classmethod
    def of(cls, name: str, changes: Mapping[str, object]) -> Setting:
        """Another game of the same seats, or other players."""
        return cls(name, f"eval-{name}.json", None, changes)
