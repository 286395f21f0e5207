"""Render the published probes of models as Markdown tables.

    python scripts/probe_table.py                 # to standard output
    python scripts/probe_table.py --write         # into the page about probing, between its two marks

Reads ``results/shapellm/probe/MODEL/``, which ``coplay probe MODEL --out DIR`` wrote and ``scripts/publish_results.py`` compressed. Numbers come from there alone.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from results_table import REPOSITORY, between

from coplay.experiments.probe import Probe, read_probe
from coplay.experiments.probe_summary import biases, policies, short_states

RESULTS = REPOSITORY / "results" / "shapellm" / "probe"
PAGE = REPOSITORY / "docs" / "howto" / "probe.md"
MODELS = ("smollm2", "Qwen2.5-Coder-0.5B-Instruct-Q4_K_M", "tiny", "tiny-second")
"""The models, in the order of the page."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables, or write them into the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="put the tables into the page")
    text = tables(RESULTS)
    if parser.parse_args(arguments).write:
        PAGE.write_text(between(PAGE.read_text(encoding="utf-8"), text), encoding="utf-8")
    else:
        print(text)
    return 0


def tables(results: Path) -> str:
    """All models, a table for each game of a model."""
    return "\n".join(f"### {name}\n\n{of_model(read_probe(results / name))}" for name in MODELS)


def of_model(probe: Probe) -> str:
    """A table a game: a line for each layout, with counts and without."""
    found, about_words, parts = policies(probe), {bias.game: bias for bias in biases(probe)}, []
    for game, actions in probe.actions.items():
        short = short_states(actions)
        lines = [f"| {game}, P({actions[0]}) | {' | '.join(short.values())} | reciprocity | legal |"]
        lines.append("|" + "---|" * (len(short) + 3))
        for policy in [one for one in found if one.game == game]:
            shown = [f"{policy.states[state].mean:.2f}" if state in policy.states else "" for state in short]
            name = f"{policy.layout}, counts" if policy.counts else policy.layout
            lines.append(f"| {name} | {' | '.join(shown)} | {policy.reciprocity} | {policy.legal.mean:.1%} |")
        bias = about_words[game]
        words = f"Position bias {bias.position}; label bias {bias.label}, most for {bias.preferred} (+{bias.preference:.2f})."
        parts.append("\n".join([*lines, "", words, ""]))
    return "\n".join(parts)


if __name__ == "__main__":
    sys.exit(main())
