"""``make bench``: time and memory of diagtool against Holistic Trace Analysis, on traces up to 1 GB, and of ``--help``.

Whole processes in turns; medians and ranges on stdout as Markdown. Nothing here passes or fails: a time depends on the
machine, so each number stands beside the bar it is meant to reach.
"""

import argparse
import json
import os
import platform
from collections.abc import Sequence
from datetime import date
from importlib import metadata
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import peer
from generate import write_trace
from measure import (
    Command,
    Sample,
    Spread,
    cpu_ratio,
    cpu_seconds,
    in_turns,
    megabytes,
    memory_ratio,
    note,
    run,
    seconds,
    time_ratio,
)
from tables import table, verdict

BIN = peer.ROOT / ".venv" / "bin"
GENERATED = peer.ROOT / ".bench"
MB = 1_000_000
SIZES_MB = (64, 256, 1000)
KEPT_BELOW_MB = 1000

BAR_FASTER, STRETCH_FASTER, BAR_MEMORY = 3.0, 4.0, 1.0
BAR_MEMORY_OF_SIZE = 3.0
BAR_HELP = 1.3


class Trace(NamedTuple):
    """A real trace and the rank it states, by which the peer wants to be asked for it."""

    path: str
    rank: int = 0


COMPARED = (Trace("hta/v100_2rank_large.json.gz", 1), Trace("hta/diff_control_a100.json.gz", 3))
FURTHER = (
    Trace("tracelens/h100/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz"),
    Trace("tracelens/b200/eager_trace.json.gz"),
    Trace("tracelens/inference/vllm_decode_full/graph_execution.json.gz"),
    Trace("kineto_tb_plugin/resnet50_num_workers_0.pt.trace.json.gz"),
    Trace("hta/mtia_train_455k_events.json.gz"),
    Trace("hta/cpu_only_gloo_rank34.json.gz", 34),
    Trace("hta/cupti_range_counters_a100.json.gz"),
    Trace("hta/no_gpu_events.json.gz"),
)


class DiagtoolFailed(Exception):
    """A measured run of diagtool that did not end well."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure everything and print the report; ``--write`` keeps it in a file as well."""
    options = _options(arguments)
    sections = [
        _heading(),
        *_against_peer(options.rounds),
        _growth(SIZES_MB[:-1] if options.quick else SIZES_MB, options.scaling_rounds),
        _help_cost(options.help_rounds),
    ]
    report = "\n\n".join(sections) + "\n"
    print(report, end="")
    if options.write:
        options.write.write_text(report, encoding="utf-8")


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Time and memory of diagtool, as a Markdown report.")
    parser.add_argument("--quick", action="store_true", help="leave the 1 GB trace out")
    parser.add_argument("--rounds", type=_count, default=7, help="rounds against the peer (default: %(default)s)")
    parser.add_argument("--scaling-rounds", type=_count, default=3, help="rounds per size (default: %(default)s)")
    parser.add_argument("--help-rounds", type=_count, default=21, help="rounds of --help (default: %(default)s)")
    parser.add_argument("--write", type=Path, metavar="FILE", help="also write the report, to paste in the docs")
    return parser.parse_args(arguments)


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return value


def _heading() -> str:
    return (
        f"## {date.today().isoformat()}\n\n"
        f"diagtool {metadata.version('diagtool')} with Python {platform.python_version()} and pandas"
        f" {metadata.version('pandas')}; {_cpu()}, {os.cpu_count()} cores, {platform.system()}.\n\n"
        "Whole processes in turns after one round that is not counted: median (smallest to largest). Ratios are taken"
        " round\nby round. MB are 10^6 bytes; memory is the peak of what is resident. diagtool runs without pyarrow,"
        " which its\ninstallation does not bring; where it is there pandas loads it, for 0.2 s and 40 MB more."
    )


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    stated = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(stated, platform.machine())


def _profile(path: Path) -> Command:
    return (BIN / "python", Path(__file__).with_name("as_installed.py"), "profile", path, "--json")


def _checked(samples: Sequence[Sample]) -> Sequence[Sample]:
    """The samples of diagtool, all of which must have ended well."""
    for sample in samples:
        if sample.exit_code:
            raise DiagtoolFailed(f"diagtool ended with {sample.exit_code}: {sample.last_error_line}")
    return samples


def _against_peer(rounds: int) -> list[str]:
    """The two tables of real traces, or why there are none."""
    title = f"### Against {peer.NAME}\n\n"
    data = os.environ.get("DIAGTOOL_DATA", "")
    if not data:
        return [f"{title}Left out: DIAGTOOL_DATA names no folder of real traces."]
    reason = peer.install()
    if reason:
        return [f"{title}Left out: {reason}."]
    folder = Path(data, "traces")
    compared = [row for trace in COMPARED for row in _compared(folder / trace.path, trace, rounds)]
    further = [_further(folder / trace.path, trace) for trace in FURTHER]
    return [
        f"{title}{peer.versions()}: temporal breakdown, idle time by\ncause and launch statistics. diagtool: all its"
        f" analyses, as JSON. Bar: {BAR_FASTER:g} times as fast at no more memory; stretch:\n{STRETCH_FASTER:g} times."
        f" {rounds} rounds.\n\n"
        + table(("trace", "of", "diagtool", "peer", "peer / diagtool", "bar", "stretch"), compared),
        "### Further traces\n\nOne run each, not counted for the bar: the peer fails on some of them.\n\n"
        + table(("trace", "diagtool", "memory", "peer", "memory", "the peer's last line where it failed"), further),
    ]


def _compared(path: Path, trace: Trace, rounds: int) -> list[tuple[str, ...]]:
    samples = in_turns({f"diagtool {trace.path}": _profile(path), "peer": peer.command(path, trace.rank)}, rounds)
    ours, theirs = samples.values()
    _checked(ours)
    failed = next((sample for sample in theirs if sample.exit_code), None)
    if failed:
        return [(trace.path, "time", seconds(ours).text(2, " s"), f"failed: {failed.last_error_line}", "-", "-", "-")]
    faster, smaller = time_ratio(theirs, ours), memory_ratio(theirs, ours)
    return [
        (trace.path, "time", seconds(ours).text(2, " s"), seconds(theirs).text(2, " s"), faster.text(2),
         verdict(faster.median, BAR_FASTER), verdict(faster.median, STRETCH_FASTER)),
        ("", "CPU", cpu_seconds(ours).text(2, " s"), cpu_seconds(theirs).text(2, " s"),
         cpu_ratio(theirs, ours).text(2), "", ""),
        ("", "memory", megabytes(ours).text(0, " MB"), megabytes(theirs).text(0, " MB"), smaller.text(2),
         verdict(smaller.median, BAR_MEMORY), ""),
    ]  # fmt: skip


def _further(path: Path, trace: Trace) -> tuple[str, ...]:
    note(f"further: {trace.path}")
    (ours,) = _checked([run(_profile(path))])
    theirs = run(peer.command(path, trace.rank))
    return (
        trace.path,
        f"{ours.seconds:.2f} s",
        f"{ours.peak_bytes / MB:.0f} MB",
        *(("failed", "") if theirs.exit_code else (f"{theirs.seconds:.2f} s", f"{theirs.peak_bytes / MB:.0f} MB")),
        theirs.last_error_line if theirs.exit_code else "",
    )


def _growth(sizes_mb: Sequence[int], rounds: int) -> str:
    """The table of generated traces and how time grows from the smallest to the largest."""
    paths = {size: GENERATED / f"trace_{size}MB.json" for size in sizes_mb}
    try:
        for size, path in paths.items():
            note(f"generating {size} MB")
            write_trace(path, size * MB)
        run(_profile(paths[sizes_mb[0]]))  # the round that is not counted: the larger ones would teach nothing more
        found = in_turns({f"{size} MB": _profile(path) for size, path in paths.items()}, rounds, warm_up=False)
    finally:
        for size, path in paths.items():
            if size >= KEPT_BELOW_MB:
                path.unlink(missing_ok=True)
    samples = {size: _checked(found[f"{size} MB"]) for size in sizes_mb}
    rows = [_growth_row(size, samples[size]) for size in sizes_mb]
    first, last = sizes_mb[0], sizes_mb[-1]
    per_mb = time_ratio(samples[last], samples[first])
    scaled = Spread(*(value * first / last for value in (per_mb.median, per_mb.low, per_mb.high)))
    head = ("JSON", "events", "time", "MB/s", "memory", "memory / JSON", f"bar: {BAR_MEMORY_OF_SIZE:g}")
    return (
        f"### Growth\n\nGenerated Kineto traces, plain JSON. {rounds} rounds.\n\n{table(head, rows)}\n\n"
        f"Seconds per MB at {last:,} MB over those at {first} MB: {scaled.text(2)}; linear is 1, or less where start-up"
        f" is spread over more.\n{_slopes(samples)}"
    )


def _growth_row(size: int, samples: Sequence[Sample]) -> tuple[str, ...]:
    times, memory = seconds(samples), megabytes(samples)
    events = json.loads(samples[0].output)["environment"]["events"]
    return (
        f"{size:,} MB",
        f"{events:,}",
        times.text(2, " s"),
        f"{size / times.median:.0f}",
        memory.text(0, " MB"),
        f"{memory.median / size:.2f}",
        "met" if memory.median <= BAR_MEMORY_OF_SIZE * size else "missed",
    )


def _slopes(samples: dict[int, Sequence[Sample]]) -> str:
    """What each further MB costs, start-up left out."""
    sizes = list(samples)
    parts = []
    for small, large in pairwise(sizes):
        more_ms = (seconds(samples[large]).median - seconds(samples[small]).median) * 1000
        more_mb = megabytes(samples[large]).median - megabytes(samples[small]).median
        step = large - small
        parts.append(f"{more_ms / step:.1f} ms and {more_mb / step:.2f} MB from {small} to {large:,} MB")
    return f"Each further MB of JSON costs {'; '.join(parts)}."


def _help_cost(rounds: int) -> str:
    """What ``--help`` costs over an empty program."""
    empty = Path(__file__).with_name("empty_app.py")
    samples = in_turns(
        {"diagtool --help": (BIN / "diagtool", "--help"), "empty --help": (BIN / "python", empty, "--help")}, rounds
    )
    ours, least = samples.values()
    _checked(ours)
    ratio = time_ratio(ours, least)
    row = (
        *(Spread(*(value * 1000 for value in (one.median, one.low, one.high))).text(0, " ms")
          for one in (seconds(ours), seconds(least))),
        ratio.text(2),
        "met" if ratio.median <= BAR_HELP else "missed",
    )  # fmt: skip
    head = ("", "diagtool", "empty typer program", "diagtool / empty", f"bar: {BAR_HELP:g}")
    return f"### Start\n\n{rounds} rounds.\n\n" + table(head, [("--help", *row)])


if __name__ == "__main__":
    main()
