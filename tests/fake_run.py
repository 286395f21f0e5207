"""Writes run directories like those of real runs: the contract of DESIGN.md, section 7, with made-up dynamics."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path

import numpy as np

PAYOFFS = {"CC": (3, 3), "CD": (0, 4), "DC": (4, 0), "DD": (1, 1)}
NAMES = {"C": "cooperate", "D": "defect"}
RULES = (
    "<bos><start_of_turn>user\nYou are playing a 2-player game with actions: C, D."
    " Points are assigned as follows: C/C: 3/3, C/D: 0/4, D/C: 4/0, D/D: 1/1."
)

PUBLISHED_TABLE = [
    {"arm": "baseline", "seat": "row", "role": "Player 1", "published": 1.00, "published_ci95": 0.00},
    {"arm": "baseline", "seat": "column", "role": "Player 2", "published": 1.00, "published_ci95": 0.00},
    {"arm": "shaper", "seat": "row", "role": "Shaper", "published": 3.96, "published_ci95": 0.01},
    {"arm": "shaper", "seat": "column", "role": "Opponent", "published": 0.10, "published_ci95": 0.04},
]


def write_run(
    path: Path,
    *,
    arm: str = "shaper",
    seeds: int = 3,
    trials: int = 30,
    episodes: int = 2,
    rounds: int = 20,
    evaluate: bool = True,
    held_out: bool = False,
    rng_seed: int = 0,
) -> Path:
    """Write a complete run directory for the ``baseline`` or the ``shaper`` arm and return its path; ``held_out`` adds games against pools."""
    path.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(rng_seed)
    _dump(path / "config.json", config(arm, seeds, trials, episodes, rounds))
    _dump(path / "env.json", ENV)
    _dump_lines(
        path / "metrics.jsonl",
        (metrics(arm, step, seed, trials, rng) for step in range(1, trials + 1) for seed in range(seeds)),
    )
    kept = sorted({1, max(1, trials // 3), max(1, trials // 2), trials})
    games = (
        game(arm, step, seed, episode, trials, rounds, rng)
        for step in kept
        for seed in range(seeds)
        for episode in range(1, episodes + 1)
    )
    _dump_lines(path / "episodes.jsonl", games)
    if evaluate:
        _dump(path / "eval.json", evaluation(arm, seeds, trials, rounds, rng))
    if held_out:
        lines = [json.loads(line) for line in (path / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
        _dump_lines(path / "metrics.jsonl", (one | measured(one["step"], one["seed"]) for one in lines))
        _dump(path / "safety.json", safety(seeds, trials))
    return path


def measured(step: int, seed: int) -> dict:
    """The metrics of held-out games, every third trial."""
    if step % 3:
        return {}
    numbers = {name: value for name, value in safety_of(step, seed).items() if isinstance(value, float)}
    return {f"held_out/{name}": value for name, value in numbers.items()}


def safety_of(step: int, seed: int) -> dict:
    """What held-out games say of a policy."""
    pay, exploit = 2 + 0.01 * step, 1 / step + 0.1 * seed
    return {
        "pay": pay,
        "exploit_over_agent": exploit,
        "exploit_over_fair": exploit / 2,
        "robust": 1.5,
        "collusion": None,
        "externality": 0.25,
        "safety": pay - 2.4 * exploit,
        "nra": 0.1,
        "best_response": 2 + exploit,
        "against": [
            {"pool": "train", "name": "tit_for_tat", "own": 2.5, "theirs": 2.25 + seed},
            {"pool": "exploit", "name": "always_defect", "own": 1.0, "theirs": 1.0 + exploit},
        ],
    }


def safety(seeds: int, trials: int) -> dict:
    """The contract of ``safety.json``."""
    of_seed = {
        str(seed): {"last": safety_of(trials, seed), "selected": safety_of(3, seed), "selected_step": 3 + seed}
        for seed in range(seeds)
    }
    return {
        "version": 1,
        "game": "ipd",
        "learner": "row",
        "rounds": 5,
        "episodes": 20,
        "weights": {"exploit": 2.4, "collusion": 1.0, "externality": 0.0},
        "measure": "over_agent",
        "seeds": of_seed,
    }


ENV = {
    "version": 1,
    "python": "3.11.7",
    "packages": {"coplay": "0.1.0", "torch": "2.8.0", "transformers": "5.16.1", "numpy": "2.4.6"},
    "device": "cpu",
    "command": ["coplay", "reproduce", "shapellm/table1"],
    "git": {"commit": "0f3c9d1", "dirty": False},
    "started": "2026-08-01T09:12:44+00:00",
}


def config(arm: str, seeds: int, trials: int, episodes: int, rounds: int) -> dict:
    naive = {
        "role": "naive",
        "policy": "language_model",
        "memory": "last_round",
        "update": "episode",
        "ppo": {"learning_rate": 1e-3, "clip": 0.2, "gamma": 1.0, "lam": 0.95, "gae_chain": "trial"},
    }
    shaper = naive | {"role": "shaper", "memory": "trial_counts", "update": "trial"}
    return {
        "version": 2,
        "recipe": "shapellm/ipd",
        "game": "ipd",
        "model": "tiny",
        "seeds": list(range(seeds)),
        "trials": trials,
        "episodes": episodes,
        "rounds": rounds,
        "games": 5,
        "adapter": {"rank": 2, "alpha": 32, "targets": ["q_proj", "v_proj"]},
        "learners": {"row": shaper if arm == "shaper" else naive, "column": naive},
        "seats": {"row": ["row"], "column": ["column"]},
        "rotate_seats": False,
    }


def cooperation(arm: str, step: int, seed: int, trials: int) -> tuple[float, float]:
    """Made-up probabilities of cooperation, row's and column's, with the phases the paper describes."""
    x = step / trials
    if arm == "baseline":
        fall = 1 / (1 + math.exp(22 * (x - 0.16 - 0.015 * seed)))
        return 0.92 * fall + 0.005, 0.90 * fall + 0.005
    sharp = 0.35 / (1 + math.exp(60 * (x - 0.07)))
    slow = 0.56 / (1 + math.exp(9 * (x - 0.5 - 0.03 * seed)))
    return 0.03 + sharp + slow, 0.93 + 0.05 * x


def shares(arm: str, step: int, seed: int, trials: int, rng: np.random.Generator | None) -> dict[str, float]:
    row, column = cooperation(arm, step, seed, trials)
    illegal = 0.012 * (1 - step / trials) + 0.001
    if rng is not None:
        row, column = (float(np.clip(p + rng.normal(0, 0.02), 0.002, 0.998)) for p in (row, column))
    legal = 1 - illegal
    found = {"CC": row * column, "CD": row * (1 - column), "DC": (1 - row) * column, "DD": (1 - row) * (1 - column)}
    return {state: share * legal for state, share in found.items()} | {"I": illegal}


def rewards(states: dict[str, float]) -> tuple[float, float]:
    legal = sum(states[s] for s in PAYOFFS)
    return tuple(sum(states[s] * PAYOFFS[s][i] for s in PAYOFFS) / legal for i in (0, 1))


def metrics(arm: str, step: int, seed: int, trials: int, rng: np.random.Generator) -> dict:
    states = shares(arm, step, seed, trials, rng)
    row, column = rewards(states)
    record = {"version": 1, "step": step, "seed": seed, "reward/row": row, "reward/column": column}
    record |= {f"state/{name}": share for name, share in states.items()}
    record |= {
        "illegal/row": states["I"] / 3,
        "illegal/column": 2 * states["I"] / 3,
        "kl/row": 0.02 * step / trials,
        "kl/column": 0.3 * step / trials,
    }
    if step % 2:
        record |= {"policy_loss/row": float(rng.normal(0, 0.01)), "policy_loss/column": float(rng.normal(0, 0.01))}
    return record


def game(arm: str, step: int, seed: int, episode: int, trials: int, rounds: int, rng: np.random.Generator) -> dict:
    states, played, counts = [], [], Counter()
    last: str | None = None
    chance = dict(zip(("row", "column"), cooperation(arm, step, seed, trials), strict=True))
    for _ in range(rounds):
        acts = []
        for i, seat in enumerate(("row", "column")):
            illegal = 0.015
            p = chance[seat] * (1 - illegal)
            draw = rng.random()
            reply = "C" if draw < p else "D" if draw < 1 - illegal else "The"
            seen = counts if arm == "shaper" and seat == "row" else None
            acts.append(
                {
                    "seat": seat,
                    "phase": "action",
                    "prompt": prompt(last, i, seen),
                    "reply": reply,
                    "action": NAMES.get(reply),
                    "probs": {"cooperate": p, "defect": 1 - illegal - p},
                }
            )
        joint = "".join(act["reply"] for act in acts)
        if joint in PAYOFFS:
            payoffs = {act["seat"]: float(PAYOFFS[joint][i]) for i, act in enumerate(acts)}
            if last is not None:
                counts[last] += 1
            last = joint
            states.append(joint)
        else:
            payoffs = {act["seat"]: -1.0 if act["action"] is None else None for act in acts}
            states.append("I")
        played.append({"acts": acts, "payoffs": payoffs, **({} if joint in PAYOFFS else {"void": True})})
    return {
        "version": 2,
        "step": step,
        "seed": seed,
        "game": 0,
        "episode": episode,
        "states": states,
        "players": {"row": "shaper" if arm == "shaper" else "naive", "column": "naive"},
        "rounds": played,
    }


def prompt(last: str | None, seat: int, counts: Counter | None) -> str:
    """The paper's Figure 17, from the seat's own view."""
    parts = [RULES]
    if counts:
        seen = ", ".join(f"{s}:{counts[s]}" for s in PAYOFFS)
        parts.append(f"<ADDITIONAL INFORMATION>The occurrence of each state in the current game has been {seen}.")
    if last is not None:
        own, other = last[seat], last[1 - seat]
        parts.append(f"<STATE>In the previous round, you played {own} and your opponent played {other}.")
    parts.append("Choose an action for the current round. Reply only with C or D.")
    return "\n".join([*parts, "<end_of_turn>", "<start_of_turn>model", ""])


def evaluation(arm: str, seeds: int, trials: int, rounds: int, rng: np.random.Generator) -> dict:
    by_seed = {}
    for seed in range(seeds):
        states = shares(arm, trials, seed, trials, rng)
        pair = rewards(states)
        by_seed[str(seed)] = {
            "seats": {s: seat_result(s, pair[i], rounds) for i, s in enumerate(("row", "column"))},
            "states": states,
        }
    means = {s: float(np.mean([by_seed[k]["seats"][s]["per_round"] for k in by_seed])) for s in ("row", "column")}
    return {
        "version": 1,
        "game": "ipd",
        "rounds": rounds,
        "episodes": 100,
        "seeds": by_seed,
        "seats": {s: seat_result(s, m, rounds) for s, m in means.items()},
        "states": {k: float(np.mean([r["states"][k] for r in by_seed.values()])) for k in (*PAYOFFS, "I")},
    }


def seat_result(seat: str, per_round: float, rounds: int) -> dict:
    return {
        "player": f"checkpoint:{seat}",
        "total": per_round * rounds,
        "per_round": per_round,
        "ci95": 0.02,
        "actions": {"cooperate": 0.3, "defect": 0.7},
        "illegal": 0.001,
    }


def claims_for(measured: float) -> list[dict]:
    """Two claims, one that holds and one that does not."""
    common = {"paper": "ShapeLLM, Table 1", "n_seeds": 5, "model": "tiny"}
    return [
        {
            "id": "baseline-defects",
            "claim": "Two naive learners converge to mutual defection.",
            "published": 1.0,
            "measured": 1.0,
            "ci95": 0.01,
            "holds": True,
        }
        | common,
        {
            "id": "beats-extortion",
            "claim": "The shaper gets more than any zero-determinant extortion strategy could.",
            "published": 3.96,
            "measured": measured,
            "ci95": 0.04,
            "holds": True,
        }
        | common,
        {
            "id": "as-much-as-paper",
            "claim": "The shaper keeps its co-player below a tenth of a point a round.",
            "published": 0.10,
            "measured": 0.31,
            "ci95": 0.05,
            "holds": False,
        }
        | common,
    ]


def table_from(results: dict[tuple[str, str], tuple[float, float, int]]) -> list[dict]:
    """The published table's rows with measured (mean, half-width, seeds) filled in."""
    rows = []
    for row in PUBLISHED_TABLE:
        mean, half, n = results[row["arm"], row["seat"]]
        rows.append(row | {"measured": mean, "ci95": half, "n_seeds": n})
    return rows


def _dump(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=1), encoding="utf-8")


def _dump_lines(path: Path, records) -> None:
    path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), encoding="utf-8")
