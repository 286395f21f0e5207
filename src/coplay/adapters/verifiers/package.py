"""The package itself, imported when it is first needed."""

from __future__ import annotations

from coplay.errors import missing_extra

try:
    import verifiers.v1 as vf
except ImportError:
    raise missing_extra("verifiers", "verifiers") from None

__all__ = ["vf"]
