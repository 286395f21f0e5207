"""The names of what can be written."""

from __future__ import annotations

from typing import Literal, get_args

Format = Literal["inspect", "every-eval-ever", "csv", "parquet"]
"""The forms of other tools."""

FORMATS: tuple[Format, ...] = get_args(Format)
"""All of them."""

Table = Literal["metrics", "games", "evaluation", "measures"]
"""``metrics`` of training, complete ``games``, the ``evaluation`` by seed and seat, an audit's ``measures``."""

TABLES: tuple[Table, ...] = get_args(Table)
"""All of them."""
