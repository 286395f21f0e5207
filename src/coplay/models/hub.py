"""Models of the Hub, as the directories in which the Hub's library keeps them: what is checked in a directory is then checked of them as well."""

from __future__ import annotations

from pathlib import Path

from coplay.errors import UsageError
from coplay.files.reading import as_object, read_json
from coplay.models.checkpoint import INDEX, WEIGHTS

_SETTINGS = ("*.json", "*.jinja", "*.txt", "*.model", "*.tiktoken")
"""All files that are read of a model but its weights."""


def fetched(name: str) -> Path:
    """The directory of a Hub model, with its settings and the weights that transformers reads, which are downloaded if they are not there.

    Raises:
        UsageError: if its index of weights names no files.
        Exception: of transformers, if there is no such model, or it cannot be reached.
    """
    from huggingface_hub import snapshot_download
    from transformers import AutoConfig

    try:
        directory = Path(snapshot_download(name, allow_patterns=list(_SETTINGS)))
    except Exception:  # of many kinds; transformers says in a sentence what they mean
        AutoConfig.from_pretrained(name, trust_remote_code=False)
        raise
    revision = directory.name
    snapshot_download(name, revision=revision, allow_patterns=[WEIGHTS])
    if not (directory / WEIGHTS).exists() and (directory / INDEX).exists():
        listed = as_object(read_json(directory / INDEX), directory / INDEX).get("weight_map")
        files = sorted(set(map(str, listed.values()))) if isinstance(listed, dict) else []
        if not files:
            raise UsageError(f"{directory / INDEX}: weight_map must name the safetensors files beside it")
        snapshot_download(name, revision=revision, allow_patterns=files)
    return directory


def kept(name: str) -> Path | None:
    """The directory of a Hub model, if some of it was downloaded before."""
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(name, "config.json")
    return Path(found).parent if isinstance(found, str) else None
