"""The bytes of a file, gunzipped on the way, and the book of what was lost."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from isal import igzip_lib, isal_zlib

from diagtool.diagnosis import Loss
from diagtool.errors import UnreadableInput
from diagtool.units import count_text

GZIP_MAGIC = b"\x1f\x8b"
BLOCK_BYTES = 4 << 20
HEAD_BYTES = 256 << 10
# isal's stub says that the class is an instance.
_DAMAGED: type[Exception] = igzip_lib.IsalError  # type: ignore[assignment]

Progress = Callable[[int, int], None]
"""Called with (bytes of the file read, size of the file)."""


class Losses:
    """Counts what could not be read, with the first example of each kind, and what was mended to read the rest."""

    def __init__(self) -> None:
        self._found: dict[str, Loss] = {}
        self._mended: dict[str, int] = {}

    def add(self, what: str, count: int = 1, detail: str = "", unit: str = "event") -> None:
        """Count ``count`` more of ``what`` as lost."""
        if count:
            before = self._found.get(what, Loss(what, 0, detail, unit))
            self._found[what] = replace(before, count=before.count + count)

    def mend(self, what: str, count: int = 1) -> None:
        """Count ``count`` more of ``what`` as read after mending."""
        if count:
            self._mended[what] = self._mended.get(what, 0) + count

    def all(self) -> tuple[Loss, ...]:
        """Every kind of loss, in the order it was first met."""
        return tuple(self._found.values())

    def notes(self) -> tuple[str, ...]:
        """A sentence for each kind of mending."""
        return tuple(f"{count_text(count)} x {what}" for what, count in self._mended.items())


def head(path: Path, size: int = HEAD_BYTES) -> bytes:
    """The first bytes of the content, gunzipped; fewer when the file is short or broken."""
    found = bytearray()
    for block in blocks(path, Losses(), block_bytes=size):
        found += block
        if len(found) >= size:
            break
    return bytes(found[:size])


def contains(path: Path, needle: bytes) -> bool:
    """Whether the content holds some bytes, however far in."""
    overlap = b""
    for block in blocks(path, Losses()):
        if needle in overlap + block:
            return True
        overlap = block[-len(needle) :]
    return False


def blocks(
    path: Path, losses: Losses, on_progress: Progress | None = None, block_bytes: int = BLOCK_BYTES
) -> Iterator[bytes]:
    """The content in blocks of at most ``block_bytes``, whatever the file is called.

    A gzip stream that is cut or damaged gives what can be had, and a line in ``losses``. UnreadableInput when the
    file cannot be opened.
    """
    try:
        with path.open("rb") as file:
            size = path.stat().st_size
            first = file.read(2)
            file.seek(0)
            stream = _gunzip(file, losses, block_bytes) if first == GZIP_MAGIC else _plain(file, block_bytes)
            for block in stream:
                yield block
                if on_progress:
                    on_progress(file.tell(), size)
    except OSError as error:
        raise UnreadableInput(f"cannot read {path}: {error.strerror or error}") from error


def _plain(file: Any, block_bytes: int) -> Iterator[bytes]:
    while block := file.read(block_bytes):
        yield block


def _gunzip(file: Any, losses: Losses, block_bytes: int) -> Iterator[bytes]:
    given = 0
    try:
        for block in _members(file, losses, block_bytes):
            given += len(block)
            yield block
    except _DAMAGED as error:
        # The call in which the damage shows gives nothing: do it again byte by byte, up to the damage.
        losses.add("compressed data damaged", 1, str(error), "file")
        file.seek(0)
        pieces = _until_damage(_members(file, Losses(), block_bytes, careful_from=given))
        yield from _gathered(_from(given, pieces), block_bytes)


def _members(file: Any, losses: Losses, block_bytes: int, careful_from: int | None = None) -> Iterator[bytes]:
    """The content of all members; from ``careful_from`` bytes of it on in as small pieces as can be had."""
    stream = isal_zlib.decompressobj(wbits=31)
    pending: bytes | memoryview = b""
    given = 0
    while True:
        if not pending:
            pending = file.read(max(block_bytes // 8, 16))
        if not pending:
            if not stream.eof:
                losses.add("compressed data cut short", 1, "the gzip stream ends before its end mark", "file")
            return
        if stream.eof:
            following = bytes(pending)
            if len(following) < len(GZIP_MAGIC):
                following += file.read(block_bytes // 8)
            # A gzip file may hold several members one after the other; anything else behind the end is padding.
            if not following.startswith(GZIP_MAGIC):
                return
            pending = following
            stream = isal_zlib.decompressobj(wbits=31)
        if careful_from is not None and given >= careful_from:
            rest = memoryview(pending)
            block, pending = stream.decompress(rest[:1], block_bytes), rest[1:]
        else:
            block = stream.decompress(pending, block_bytes)
            pending = stream.unused_data if stream.eof else stream.unconsumed_tail
        given += len(block)
        if block:
            yield block


def _until_damage(stream: Iterator[bytes]) -> Iterator[bytes]:
    with suppress(_DAMAGED):
        yield from stream


def _from(offset: int, stream: Iterator[bytes]) -> Iterator[bytes]:
    for block in stream:
        if offset < len(block):
            yield block[offset:]
        offset = max(offset - len(block), 0)


def _gathered(pieces: Iterator[bytes], block_bytes: int) -> Iterator[bytes]:
    block = bytearray()
    for piece in pieces:
        block += piece
        if len(block) >= block_bytes:
            yield bytes(block)
            block.clear()
    if block:
        yield bytes(block)
