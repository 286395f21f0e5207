"""The players of an experiment meet on a cluster as they do in the command's own process."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_cluster import FakeCluster

from coplay.errors import Interrupted
from coplay.experiments.reproduce import reproduce
from coplay.experiments.request import Request

REQUEST = Request("adalign/figure3", "ipd-ab", seeds=(3, 1), trials=1)
MEETINGS = "meetings/figure3-ipd-ab.json"


def test_meetings_on_a_cluster_are_those_of_one_process(tmp_path: Path) -> None:
    here, there, cluster = tmp_path / "here", tmp_path / "there", FakeCluster()
    reproduce(REQUEST, here, quiet=True)
    reproduce(REQUEST, there, quiet=True, executor=cluster)
    assert (there / MEETINGS).read_bytes() == (here / MEETINGS).read_bytes()
    aligned = there.absolute() / "adalign"
    assert cluster.carried_out == ["adalign", f"{aligned} with 3 players"]  # strategies meet here
    assert cluster.inputs[-1] == (str(aligned),)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["here", "there"]


def test_meetings_that_were_interrupted_are_continued(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(Interrupted):
        reproduce(REQUEST, out, quiet=True, executor=FakeCluster(stops_after=1))
    assert not (out / MEETINGS).exists()
    again = FakeCluster()
    reproduce(REQUEST, out, quiet=True, executor=again)
    assert len(again.carried_out) == 1 and (out / MEETINGS).exists()
