"""Readers: a file in, a Timeline out. Adding a format is a file with ``sniff`` and ``read`` and a line in FORMATS."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path

from diagtool.diagnosis import Loss
from diagtool.errors import DiagtoolError, UnreadableInput, UnsupportedFormat
from diagtool.readers import foreign, kineto
from diagtool.readers.files import HEAD_BYTES, Progress, contains, head
from diagtool.timeline import Timeline, merge
from diagtool.units import listing, plural


@dataclass(frozen=True, slots=True)
class Format:
    """One file format: ``sniff`` looks at the first bytes of the content, gunzipped, and parses nothing."""

    name: str
    title: str
    sniff: Callable[[bytes], bool]
    read: Callable[[Path, Progress | None], Timeline]


FORMATS: tuple[Format, ...] = (Format("kineto", "PyTorch profiler trace", kineto.sniff, kineto.read),)


def read(*paths: str | PathLike[str], on_progress: Progress | None = None) -> Timeline:
    """The timeline of a trace, of several, or of a directory of rank traces.

    Several traces become one timeline with a ``rank`` each: the one a trace states, else the next free number. Two
    traces of which one holds only host calls and the other only device work are halves of one rank. UnreadableInput
    or UnsupportedFormat when there is nothing to read; a directory's other files are listed in ``source.notes``.
    """
    parts: list[Timeline] = []
    distinct = {path.resolve(): path for path in map(Path, paths)}
    for path in distinct.values():
        parts += _read_directory(path, on_progress) if path.is_dir() else [_read_file(path, on_progress)]
    if not parts:
        raise UnreadableInput("nothing to read", "give a trace file or a directory of rank traces")
    if len(distinct) < len(paths):
        repeated = plural(len(paths) - len(distinct), "path")
        parts[0] = _with_notes(parts[0], [f"{repeated} given twice, read once"])
    return merge(assign_ranks(parts))


def find_format(path: Path) -> Format:
    """The one format that claims a file. UnsupportedFormat names what the file is, where that is known."""
    start = head(path)
    for candidate in FORMATS:
        if candidate.sniff(start):
            return candidate
    # Metadata of any length may stand before the events.
    if len(start) == HEAD_BYTES and foreign.is_unknown_json(start) and contains(path, b'"traceEvents"'):
        return FORMATS[0]
    raise foreign.refusal(path, start, [candidate.title for candidate in FORMATS])


def assign_ranks(parts: Sequence[Timeline]) -> list[Timeline]:
    """Label each part with a rank of its own; halves of one rank share theirs."""
    stated = [_stated_rank(part) for part in parts]
    labelled: list[Timeline] = []
    taken: dict[int, list[Timeline]] = {}
    notes: list[str] = []
    for part, rank in sorted(zip(parts, stated, strict=True), key=lambda pair: pair[1] < 0):
        half_of = next(
            (
                known
                for known, others in taken.items()
                if (rank < 0 or rank == known) and len(others) == 1 and _are_halves(others[0], part)
            ),
            None,
        )
        free = next(number for number in range(len(parts) + len(taken) + 1) if number not in {*taken, *stated})
        label = half_of if half_of is not None else rank if rank >= 0 and rank not in taken else free
        if rank >= 0 and label != rank:
            notes.append(f"{_file(part)} states rank {rank} as another does: labelled {label}")
        taken.setdefault(label, []).append(part)
        labelled.append(part.with_ranks(label))
    worked = {label for label, members in taken.items() if any(len(part.device) for part in members)}
    same: dict[tuple[int, int, int, int], Timeline] = {}
    for part, rank in zip(parts, stated, strict=True):
        twin = same.setdefault((rank, part.origin_ns, len(part.host), len(part.device)), part)
        if twin is not part:
            notes.append(f"{_file(twin)} and {_file(part)} look like one trace given twice")
    if worked:
        notes += [f"rank {label}: no device events" for label in sorted(taken) if label not in worked]
    return [_with_notes(labelled[0], notes), *labelled[1:]]


def _with_notes(part: Timeline, notes: Sequence[str], lost: Sequence[Loss] = ()) -> Timeline:
    source = replace(part.source, notes=(*part.source.notes, *notes), lost=(*part.source.lost, *lost))
    return replace(part, source=source)


def _read_file(path: Path, on_progress: Progress | None) -> Timeline:
    if path.exists() and not path.is_file():
        raise UnreadableInput(f"{path}: a pipe or device, not a file", "save it to a file first")
    return find_format(path).read(path, on_progress)


def _read_directory(folder: Path, on_progress: Progress | None) -> list[Timeline]:
    parts, foreign_files, broken = [], [], []
    try:
        paths = sorted(item for item in folder.iterdir() if item.is_file())
    except OSError as error:
        raise UnreadableInput(f"cannot read {folder}: {error.strerror or error}", "look at its permissions") from error
    for path in paths:
        try:
            parts.append(_read_file(path, on_progress))
        except UnsupportedFormat as error:
            foreign_files.append((path, error))
        except UnreadableInput as error:
            broken.append((path, error))
    if not parts:
        raise _nothing_in(folder, [*foreign_files, *broken])
    notes = []
    if foreign_files:
        names = listing([path.name for path, _ in foreign_files])
        notes.append(f"{plural(len(foreign_files), 'file')} passed over, no trace: {names}")
    lost = [Loss("file that could not be read", 1, f"{path.name}: {error.message}", "file") for path, error in broken]
    parts[0] = _with_notes(parts[0], notes, lost)
    return parts


def _nothing_in(folder: Path, passed_over: Sequence[tuple[Path, DiagtoolError]]) -> UnsupportedFormat:
    if len(passed_over) == 1:
        error = passed_over[0][1]
        return UnsupportedFormat(f"no trace in {folder}: {error.message}", error.hint)
    folders = sum(item.is_dir() for item in folder.iterdir())
    inside = f"; {plural(folders, 'folder')} in it not looked into" if folders else ""
    return UnsupportedFormat(
        f"no trace in {folder}: {plural(len(passed_over), 'file')}, none is a {FORMATS[0].title}{inside}",
        "give a trace file, or the directory that holds one trace per rank",
    )


def _stated_rank(part: Timeline) -> int:
    for table in (part.device, part.host):
        if len(table):
            return int(table["rank"].to_numpy()[0])
    return -1


def _are_halves(one: Timeline, other: Timeline) -> bool:
    return (len(one.device) > 0) != (len(other.device) > 0) and (len(one.host) > 0) != (len(other.host) > 0)


def _file(part: Timeline) -> str:
    return Path(part.source.files[0]).name if part.source.files else "a trace"
