"""Models of the Hub, as the directories in which the Hub's library keeps them: what is checked in a directory is then checked of them as well.

The Hub is asked where it answers at all, so that a machine without one does not wait for the library's many tries.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from coplay.errors import UsageError
from coplay.files.reading import as_object, read_json
from coplay.models.checkpoint import INDEX, WEIGHTS

_SETTINGS = ("*.json", "*.jinja", "*.txt", "*.model", "*.tiktoken")
"""All files that are read of a model but its weights."""

_SECONDS = 5.0
"""How long the Hub may take for its first answer."""


def fetched(name: str) -> Path:
    """The directory of a Hub model, with its settings and the weights that transformers reads, which are downloaded if they are not there.

    Raises:
        UsageError: if its index of weights names no files.
        Exception: of transformers, if there is no such model, or it cannot be reached.
    """
    from huggingface_hub import snapshot_download
    from transformers import AutoConfig

    here = only_here(name)
    try:
        directory = Path(snapshot_download(name, allow_patterns=list(_SETTINGS), local_files_only=here))
    except Exception:  # of many kinds; transformers says in a sentence what they mean
        AutoConfig.from_pretrained(name, trust_remote_code=False, local_files_only=here)
        raise
    revision = directory.name
    snapshot_download(name, revision=revision, allow_patterns=[WEIGHTS], local_files_only=here)
    if not (directory / WEIGHTS).exists() and (directory / INDEX).exists():
        listed = as_object(read_json(directory / INDEX), directory / INDEX).get("weight_map")
        files = sorted(set(map(str, listed.values()))) if isinstance(listed, dict) else []
        if not files:
            raise UsageError(f"{directory / INDEX}: weight_map must name the safetensors files beside it")
        snapshot_download(name, revision=revision, allow_patterns=files, local_files_only=here)
    return directory


def kept(name: str) -> Path | None:
    """The directory of a Hub model, if some of it was downloaded before."""
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(name, "config.json")
    return Path(found).parent if isinstance(found, str) else None


def only_here(path: str) -> bool:
    """Whether Transformers' loaders are to look on this machine only (``local_files_only``): for a Hub id where the Hub does not answer.

    Args:
        path: a directory, or a Hub id.
    """
    return not (Path(path).is_dir() or _answers())


@cache
def _answers() -> bool:
    """Whether the Hub answers, whatever it says; asked once."""
    from huggingface_hub import constants, get_session

    try:
        get_session().head(constants.ENDPOINT, timeout=_SECONDS)
    except Exception:  # of whichever library the Hub's uses; it is offline by its settings, or cannot be reached
        return False
    return True
