"""What the idle split says about causes: one finding for each way the device was kept waiting."""

from collections.abc import Callable, Sequence

import numpy as np

from diagtool.analyses.idle_split import Gap, Split, longest_first, name_of, summed
from diagtool.context import Context
from diagtool.diagnosis import Evidence, Finding, Fix, finding
from diagtool.engine_steps import main_steps, tokens
from diagtool.grouping import distinct
from diagtool.launches import NO_LAUNCH
from diagtool.timeline import Timeline
from diagtool.units import fraction, percent_text, plural, seconds

# From here on recording Python calls is a large part of what the host does.
_PYTHON_SHARE, _PYTHON_CALLS = 0.25, 1000
# A step of at most this many new tokens is small.
_FEW_TOKENS = 16


def judge(timeline: Timeline, context: Context, splits: Sequence[Split]) -> tuple[Finding, ...]:
    """Every finding the idle time gives rise to; what costs too little to name is left out."""
    return tuple(found for found in _Judge(timeline, context, splits).findings() if found)


class _Judge:
    """Findings from the idle splits of all devices: losses are those of the worst device, evidence is of all."""

    def __init__(self, timeline: Timeline, context: Context, splits: Sequence[Split]) -> None:
        self._timeline = timeline
        self._context = context
        self._splits = splits
        self._window_ns = sum(one.window.length_ns for one in splits)
        self._inside = summed(one.host_ns for one in splits)
        self._outside = summed(one.outside_ns for one in splits)
        python = int(np.count_nonzero(timeline.host["kind"].to_numpy() == "python"))
        many = python >= _PYTHON_CALLS and python > _PYTHON_SHARE * len(timeline.host)
        self._python_calls = python if many else 0

    def findings(self) -> list[Finding | None]:
        """Every finding the idle time gives rise to, or None where the loss is too small to name."""
        host_bound = self._host_bound()
        return [
            host_bound,
            self._python_note() if host_bound else None,
            self._small_batch(),
            self._host_work(
                "data-loading", "The device waits while the launching thread loads the next batch.", self._loader_fix()
            ),
            self._host_work("warm-up", "The device waits while the host compiles, tunes, captures or loads code.", (
                Fix("Warm up before the window: run every shape once, then start the profiler.",
                    "torch.profiler.schedule(wait=1, warmup=3, active=5)"),
            )),
            self._host_work("allocator-churn", "The device waits while the host allocates or frees device memory.", (
                Fix("Let the caching allocator keep its memory: no empty_cache() in the loop, stable shapes.",
                    "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"),
            )),
            self._launches(),
            self._sync_stall(),
            self._dependency_wait(),
            *self._untraced_gaps(),
            *self._graph_holes(),
            self._starved(),
        ]  # fmt: skip

    def _finding(
        self,
        cause: str,
        title: str,
        lost: Callable[[Split], int],
        evidence: Sequence[Evidence],
        fix: Sequence[Fix],
        confidence: str = "high",
    ) -> Finding | None:
        """A finding priced on the device that loses the largest share: ranks in lockstep wait for the slowest."""
        worst = max(self._splits, key=lambda one: fraction(lost(one), one.window.judged_ns) or 0.0)
        return finding(
            cause,
            title,
            lost_s=seconds(lost(worst)),
            lost_fraction=fraction(lost(worst), worst.window.judged_ns) or 0.0,
            evidence=evidence,
            fix=fix,
            confidence=confidence,
            where=worst.window.place,
        )

    def _of_window(self, what: str, ns: int) -> Evidence:
        whole = "the window" if len(self._splits) == 1 else "all windows"
        return Evidence(what, fraction(ns, self._window_ns), "fraction", whole)

    def _host_bound(self) -> Finding | None:
        inside, outside = self._inside["host-bound"], self._outside.get("host-bound", 0)
        launches = self._context.launches[np.concatenate([one.window.rows for one in self._splits])]
        evidence = [
            self._of_window("idle while the launching thread ran host code", inside),
            Evidence("device events", len(launches), "count"),
            Evidence("calls that launched them", len(distinct(launches[launches != NO_LAUNCH])), "count"),
            *self._outside_evidence(outside),
            *self._deepest(),
        ]
        mostly_outside = outside > inside
        title = (
            "The step's time passes on the host before or after the device works."
            if mostly_outside
            else "The device waits for the host, which runs Python or operators before each launch."
        )
        return self._finding(
            "host-bound",
            title,
            lambda one: one.host_ns["host-bound"] + one.outside_ns.get("host-bound", 0),
            evidence,
            self._host_fix(mostly_outside),
            confidence="medium" if self._python_calls else "high",
        )

    def _small_batch(self) -> Finding | None:
        """Host-bound steps of few tokens: the host's work hardly grows with the batch, the device's does."""
        marks = main_steps(self._timeline.steps)
        new_tokens = [tokens(mark).total for _, mark in marks.iterrows()]
        busy = [count for count in new_tokens if count]
        idle_ns, worked_ns = self._inside["host-bound"], self._window_ns - sum(one.idle_ns for one in self._splits)
        if not busy or None in new_tokens or idle_ns < worked_ns or (few := float(np.median(busy))) > _FEW_TOKENS:
            return None
        server = str(self._timeline.environment.get("server"))
        flag = {
            "vllm": "vllm serve --max-num-seqs COUNT",
            "sglang": "python -m sglang.launch_server --max-running-requests COUNT",
        }
        return self._finding(
            "small-batch",
            "Each step carries so few tokens that the host's work for it outlasts the device's.",
            lambda one: one.host_ns["host-bound"] + one.outside_ns.get("host-bound", 0),
            (
                self._of_window("idle while the launching thread ran host code", self._inside["host-bound"]),
                Evidence("median tokens of a step", few, "count"),
                Evidence("steps", len(marks), "count"),
            ),
            (Fix("Serve more requests at once: more clients, or a higher limit of running requests.",
                 flag.get(server, "")),),
            confidence="medium",
        )  # fmt: skip

    def _python_note(self) -> Finding | None:
        if not self._python_calls:
            return None
        share = fraction(self._python_calls, len(self._timeline.host))
        return finding(
            "trace-integrity",
            "Python calls were recorded: that is host work of its own and makes the host look slower than it is.",
            lost_s=0.0,
            lost_fraction=0.0,
            evidence=(
                Evidence("Python calls recorded", self._python_calls, "count"),
                Evidence("Python calls", share, "fraction", "the host's events"),
            ),
            fix=(
                Fix(
                    "Record without Python stacks to time the host.",
                    "torch.profiler.profile(with_stack=False)",
                ),
            ),
            severity_at_least="info",
        )

    def _host_fix(self, mostly_outside: bool) -> tuple[Fix, ...]:
        if mostly_outside:
            return (Fix("Prepare the next step's input while the device runs this one: another thread or process."),)
        if self._mostly_graphs():
            return (Fix("The work is graph-launched already: shorten what the host runs between the graphs."),)
        return (*self._graph_fix(), Fix("Give the device more work per launch: larger batches, fused operators."))

    def _loader_fix(self) -> tuple[Fix, ...]:
        names = self._timeline.host["name"].cat.categories
        if any("MultiProcessingDataLoader" in str(name) for name in names):
            return (
                Fix("The workers are too slow for the device: more of them, or further ahead.",
                    "DataLoader(num_workers=..., prefetch_factor=...)"),
                Fix("Shorten what each worker does for a batch."),
            )  # fmt: skip
        return (
            Fix("Load batches in other processes, ahead of use.", "DataLoader(num_workers=4, prefetch_factor=2)"),
            Fix("Move decoding and augmentation to the workers, and copy from pinned memory."),
        )

    def _launch_fix(self) -> tuple[Fix, ...]:
        if self._mostly_graphs():
            return (Fix("The work is graph-launched already: join small graphs, fuse the kernels inside them."),)
        return (*self._graph_fix(), Fix("Fuse small kernels, or give each more work."))

    def _mostly_graphs(self) -> bool:
        return bool(2 * np.count_nonzero(self._context.graph_launched) > len(self._context.graph_launched))

    def _graph_fix(self) -> tuple[Fix, ...]:
        """How to launch a step with one call, in the flags of the server that made the trace."""
        servers = {
            "vllm": Fix("Capture the step in a GPU graph: vLLM does unless --enforce-eager is set."),
            "sglang": Fix("Capture the step in a GPU graph: SGLang does unless --disable-cuda-graph is set."),
        }
        own = Fix("Capture the step in a GPU graph.", 'torch.compile(model, mode="reduce-overhead")')
        return (servers.get(str(self._timeline.environment.get("server")), own),)

    def _host_work(self, cause: str, title: str, fix: Sequence[Fix]) -> Finding | None:
        inside, outside = self._inside[cause], self._outside.get(cause, 0)
        evidence = [
            *([self._of_window("idle inside it", inside)] if inside else []),
            *self._outside_evidence(outside),
        ]
        if cause == "warm-up":
            count, slow = (sum(one.slow_calls[i] for one in self._splits) for i in (0, 1))
            if count:
                evidence.append(
                    self._of_window(f"idle inside {plural(count, 'launch call')} far longer than usual", slow)
                )
        if cause == "data-loading":
            idle = sum(one.idle_ns for one in self._splits)
            loading = sum(one.loader_ns for one in self._splits)
            outside_idle = sum(one.window.judged_outside.total_ns for one in self._splits)
            share = fraction(loading + outside, idle + outside_idle)
            evidence.append(Evidence("inside the loader", share, "fraction", "all idle time"))
        slow_calls = cause == "warm-up"
        return self._finding(
            cause,
            title,
            lambda one: one.host_ns[cause] + one.outside_ns.get(cause, 0) + slow_calls * one.slow_calls[1],
            evidence,
            fix,
        )

    def _outside_evidence(self, outside_ns: int) -> list[Evidence]:
        if not outside_ns:
            return []
        mean = ", mean of devices" if len(self._splits) > 1 else ""
        what = f"before the first or after the last device event of the step{mean}"
        return [Evidence(what, seconds(outside_ns) / len(self._splits), "s")]

    def _deepest_of(self) -> str:
        return "deepest call" if len(self._splits) == 1 else "deepest call, mean of devices"

    def _deepest(self, most: int = 3) -> list[Evidence]:
        return [
            Evidence(name, seconds(ns) / len(self._splits), "s", self._deepest_of())
            for name, ns in longest_first(one.host_bound_by_name for one in self._splits)[:most]
        ]

    def _launches(self) -> Finding | None:
        inside = sum(one.by_class["launch"] - one.slow_calls[1] for one in self._splits)
        start_up = sum(one.start_up_ns for one in self._splits)
        device, host, launches = self._timeline.device, self._timeline.host, self._context.launches
        launched = np.zeros(len(launches), np.bool_)
        launched[np.concatenate([one.window.rows for one in self._splits])] = True
        launched &= launches != NO_LAUNCH
        kernel = launched & (device["kind"].to_numpy() == "kernel")
        kernel = kernel if kernel.any() else launched
        if not kernel.any():
            return None  # without a launch there is neither time inside one nor after one
        lengths = (device["end_ns"].to_numpy() - device["start_ns"].to_numpy())[kernel]
        calls, owner, count = np.unique(launches[kernel], return_inverse=True, return_counts=True)
        # A graph launch pays for all of its kernels at once.
        cost = ((host["end_ns"].to_numpy()[calls] - host["start_ns"].to_numpy()[calls]) / count)[owner]
        typical, call = float(np.median(lengths)), float(np.median(cost))
        small = typical < call
        return self._finding(
            "small-kernels" if small else "launch-bound",
            "The typical kernel takes less time than its launch, so the device waits for launches."
            if small
            else "The device waits for launches: inside the calls, and until the work has started.",
            lambda one: one.by_class["launch"] - one.slow_calls[1] + one.start_up_ns,
            (
                self._of_window("idle inside launch calls", inside),
                self._of_window("idle until launched work started", start_up),
                Evidence("median kernel", seconds(typical), "s"),
                Evidence("median launch cost of a kernel", seconds(call), "s"),
                Evidence("launch calls", len(calls), "count"),
            ),
            self._launch_fix(),
        )

    def _sync_stall(self) -> Finding | None:
        inside = sum(one.after_sync_ns for one in self._splits)
        outside = self._outside.get("sync", 0)
        calls = int(np.count_nonzero(self._timeline.host["kind"].to_numpy() == "sync"))
        return self._finding(
            "sync-stall",
            "The host waits until the device has drained; the device is idle until the host has launched again.",
            lambda one: one.after_sync_ns + one.outside_ns.get("sync", 0),
            (
                self._of_window("idle that began inside a blocking call", inside),
                *self._outside_evidence(outside),
                Evidence("synchronize calls in the trace", calls, "count"),
            ),
            (
                Fix("Keep values on the device: no .item(), .cpu() or print() of a tensor inside the step."),
                Fix("Copy results with non_blocking=True and look at them one step later."),
            ),
            confidence="medium",
        )

    def _dependency_wait(self) -> Finding | None:
        lost = sum(one.queue_wait_ns for one in self._splits)
        return self._finding(
            "dependency-wait",
            "Launched work waits on the device: for an event, another stream or a peer.",
            lambda one: one.queue_wait_ns,
            (self._of_window("idle between a launch's return and its start", lost),),
            (Fix("Look at what the stream waits for: cross-stream events, collectives of a late rank."),),
            confidence="medium",
        )

    def _untraced_gaps(self) -> list[Finding | None]:
        """Single gaps after a plain launch, too long for any wait that the trace explains."""
        return [self._untraced_gap(one, gap) for one in self._splits for gap in one.untraced_gaps]

    def _untraced_gap(self, one: Split, gap: Gap) -> Finding | None:
        busy = fraction(one.window.length_ns - one.idle_ns, one.window.length_ns - gap.length_ns)
        hip = any(str(key).startswith("hip") for key in self._timeline.environment)
        return self._finding(
            "untraced-work",
            "One gap follows a launch that had returned: the profiler did not record what ran or what was awaited.",
            lambda other: gap.parts["queue"] if other is one else 0,
            (
                Evidence("length of the gap", seconds(gap.length_ns), "s"),
                Evidence("the gap", fraction(gap.length_ns, one.window.length_ns), "fraction", "the window"),
                Evidence("the call before it", name_of(self._timeline.host, gap.launch_row)),
                *self._held_up(one, gap),
                Evidence("the work after it", name_of(self._timeline.device, gap.event_row)),
                Evidence("busy", busy, "fraction", "the window without the gap"),
            ),
            (
                Fix(
                    "Look for lazy module loading, another process on the device, or work the profiler cannot see; "
                    "warm up before recording.",
                    "" if hip else "CUDA_MODULE_LOADING=EAGER",
                ),
            ),
            confidence="medium",
        )

    def _held_up(self, one: Split, gap: Gap) -> list[Evidence]:
        """The call of the rank that was held for most of a gap, where there is one."""
        host = self._timeline.host
        calls = np.flatnonzero(
            (host["rank"] == one.window.rank) & host["kind"].isin(("sync", "copy", "launch", "other"))
        )
        starts, ends = host["start_ns"].to_numpy()[calls], host["end_ns"].to_numpy()[calls]
        inside = np.minimum(ends, gap.end_ns) - np.maximum(starts, gap.start_ns)
        if not len(inside) or 2 * inside.max() < gap.length_ns:
            return []
        longest = int(np.argmax(inside))
        what = f"a call held for {percent_text(fraction(int(inside[longest]), gap.length_ns))} of it"
        return [Evidence(what, name_of(host, int(calls[longest])))]

    def _graph_holes(self) -> list[Finding | None]:
        count = sum(one.graph_holes[0] for one in self._splits)
        lost = sum(one.graph_holes[1] for one in self._splits)
        evidence = (
            self._of_window("idle between a graph launch and its first recorded node", lost),
            Evidence("holes", count, "count"),
            Evidence("longest hole", seconds(max(one.graph_holes[2] for one in self._splits)), "s"),
        )
        hole = self._finding(
            "untraced-work",
            "Graphs were launched, and for long stretches none of their nodes was recorded.",
            lambda one: one.graph_holes[1],
            evidence,
            (Fix("Record graph nodes: update the profiler's library, or profile the same step without graphs once."),),
            confidence="medium",
        )
        if hole is None:
            return []
        note = finding(
            "trace-integrity",
            "The first part of the graphs was not recorded: the device is likely busy where it looks idle.",
            lost_s=0.0,
            lost_fraction=0.0,
            evidence=evidence[:1],
            fix=(Fix("Do not read the idle share of these stretches as idle time."),),
            where=hole.where,
            severity_at_least="info",
        )
        return [hole, note]

    def _starved(self) -> Finding | None:
        lost = sum(one.by_class["starved"] for one in self._splits)
        return self._finding(
            "starved",
            "No request was runnable: the engine had nothing to do.",
            lambda one: one.by_class["starved"],
            (self._of_window("idle with no runnable request", lost),),
            (Fix("Send more load, or serve the same load with fewer devices."),),
        )
