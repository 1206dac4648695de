"""Wall time and peak memory of whole processes, run in turns so that a busy machine disturbs all of them alike."""

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

Command = Sequence[str | Path]

_KIB = 1024
# A package that was installed has its bytecode beside it; a checkout gets it in the round that is not counted.
_NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"


@dataclass(frozen=True, slots=True)
class Sample:
    """One run: its wall time, its time on a processor, its peak resident memory in bytes, and how it ended."""

    seconds: float
    cpu_seconds: float
    peak_bytes: int
    exit_code: int
    last_error_line: str
    output: str


@dataclass(frozen=True, slots=True)
class Spread:
    """Median, smallest and largest of some values."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        """The spread of at least one value."""
        return cls(statistics.median(values), min(values), max(values))

    def text(self, decimals: int, unit: str = "") -> str:
        """``1.31 s (1.28 to 1.40)``."""
        return f"{self.median:.{decimals}f}{unit} ({self.low:.{decimals}f} to {self.high:.{decimals}f})"


def run(command: Command) -> Sample:
    """Run a command to its end; its output goes to a file, as a shell would send it.

    The kernel counts what the child held between fork and exec as the child's: whoever calls this has to stay small.
    """
    words = [str(word) for word in command]
    with tempfile.TemporaryDirectory() as folder:
        out, err = Path(folder, "stdout"), Path(folder, "stderr")
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        begin = time.perf_counter()
        child = os.posix_spawn(
            words[0],
            words,
            {name: value for name, value in os.environ.items() if name != _NO_BYTECODE},
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 1, str(out), flags, 0o600),
                (os.POSIX_SPAWN_OPEN, 2, str(err), flags, 0o600),
            ],
        )
        _, status, usage = os.wait4(child, 0)
        elapsed = time.perf_counter() - begin
        lines = err.read_text(encoding="utf-8", errors="replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        output = out.read_text(encoding="utf-8", errors="replace")
        busy = usage.ru_utime + usage.ru_stime
        return Sample(elapsed, busy, usage.ru_maxrss * _KIB, os.waitstatus_to_exitcode(status), last, output)


def in_turns(commands: Mapping[str, Command], rounds: int, *, warm_up: bool = True) -> dict[str, list[Sample]]:
    """``rounds`` samples of each command, one of each per round, after a round that fills caches and is not counted."""
    samples: dict[str, list[Sample]] = {name: [] for name in commands}
    for number in range(rounds + warm_up):
        for name, command in commands.items():
            note(f"{name}: run {number + 1} of {rounds + warm_up}")
            samples[name].append(run(command))
    return {name: found[warm_up:] for name, found in samples.items()}


def seconds(samples: Sequence[Sample]) -> Spread:
    """Wall times."""
    return Spread.of([sample.seconds for sample in samples])


def cpu_seconds(samples: Sequence[Sample]) -> Spread:
    """Times on a processor, which other work on the machine disturbs less."""
    return Spread.of([sample.cpu_seconds for sample in samples])


def megabytes(samples: Sequence[Sample]) -> Spread:
    """Peak resident memory in MB of 10**6 bytes."""
    return Spread.of([sample.peak_bytes / 1e6 for sample in samples])


def time_ratio(above: Sequence[Sample], below: Sequence[Sample]) -> Spread:
    """How many times as long ``above`` took, round by round."""
    return Spread.of([one.seconds / other.seconds for one, other in zip(above, below, strict=True)])


def cpu_ratio(above: Sequence[Sample], below: Sequence[Sample]) -> Spread:
    """How many times as much processor time ``above`` took, round by round."""
    return Spread.of([one.cpu_seconds / other.cpu_seconds for one, other in zip(above, below, strict=True)])


def memory_ratio(above: Sequence[Sample], below: Sequence[Sample]) -> Spread:
    """How many times as much memory ``above`` took, round by round."""
    return Spread.of([one.peak_bytes / other.peak_bytes for one, other in zip(above, below, strict=True)])


def note(text: str) -> None:
    """Say on stderr what goes on: a full run takes minutes."""
    print(text, file=sys.stderr, flush=True)
