"""The public names: pinned, importable, known to a type checker and to an editor."""

import ast
from pathlib import Path

import pytest

import coplay

PUBLIC = [
    "GAMES",
    "Act",
    "Action",
    "AuditResult",
    "Config",
    "CoplayError",
    "CrossPlay",
    "Episode",
    "Game",
    "GameStrategy",
    "Harm",
    "LearnerConfig",
    "MatchResult",
    "MatrixGame",
    "Memory",
    "NormalFormGame",
    "Observation",
    "Outcome",
    "Phase",
    "Player",
    "PublicGoods",
    "RayCluster",
    "ReasonedGame",
    "Reply",
    "Request",
    "Round",
    "Run",
    "Sink",
    "TrackedRun",
    "Turn",
    "UsageError",
    "__version__",
    "audit",
    "check_game",
    "check_player",
    "cross_play",
    "exploit",
    "in_order",
    "load_run",
    "make_config",
    "make_game",
    "make_player",
    "match",
    "to_config",
    "train",
]


def test_the_public_names_are_these() -> None:
    assert coplay.__all__ == PUBLIC
    assert dir(coplay) == sorted(PUBLIC)


def test_every_public_name_can_be_imported_and_says_what_it_is() -> None:
    for name in PUBLIC:
        found = getattr(coplay, name)
        if isinstance(found, type) or callable(found):
            assert found.__doc__, name


def test_a_type_checker_sees_the_same_names() -> None:
    tree = ast.parse(Path(coplay.__file__).read_text(encoding="utf-8"))
    checked = next(node for node in tree.body if isinstance(node, ast.If))
    names = {alias.name for node in checked.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert names == set(PUBLIC) - {"__version__"}


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="meet"):
        getattr(coplay, "meet")  # noqa: B009


def test_a_match_from_names_functions_and_objects() -> None:
    def copycat(request: coplay.Request) -> str:
        return str(request.past[-1].actions("action")["column"]) if request.past else "cooperate"

    by_function = coplay.match("ipd", copycat, "random:0.4", rounds=10, episodes=5, seed=3)
    by_name = coplay.match("ipd", "tit_for_tat", "random:0.4", rounds=10, episodes=5, seed=3)
    seats = (by_function.summary()["seats"], by_name.summary()["seats"])
    assert seats[0]["row"]["total"] == seats[1]["row"]["total"]
    assert by_name.to_dict()["game"] == "ipd" and len(repr(by_name)) < 120


def test_settings_are_checked(tmp_path: Path) -> None:
    for bad in ({"trials": -3}, {"nonsense": 1}):
        with pytest.raises(coplay.UsageError):
            coplay.train("shapellm/ipd", learner="tabular", out=tmp_path / "run", **bad)  # type: ignore[arg-type]
        assert not (tmp_path / "run").exists()


def test_a_run_is_trained_read_and_played(tmp_path: Path) -> None:
    small = {"trials": 2, "seeds": (0,), "eval_games": 2, "games": 2, "rounds": 4, "episodes": 2, "threads": 1}
    run = coplay.train("shapellm/ipd", "row.ppo.clip=0.1", learner="tabular", out=tmp_path / "run", **small)
    again = coplay.load_run(run.path)
    assert again.config == run.config and again.config.learners["row"].ppo.clip == 0.1
    assert len(again.metric_records) == 2 and again.evaluation is not None and again.episode_records
    row = next(again.players())
    assert row == f"{run.path}:row:0"
    assert coplay.match("ipd", row, "tit_for_tat", rounds=4, episodes=2).summary()["seats"]["row"]["illegal"] == 0
