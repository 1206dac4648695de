"""What Holistic Trace Analysis does with a trace: the analyses whose answers diagtool gives too. Runs in its own venv.

Usage: hta_side.py RANK FILE, where RANK is the rank the file states (0 where it states none) and FILE is absolute.
"""

import sys

from hta.trace_analysis import TraceAnalysis


def main(rank: int, path: str) -> None:
    """Print the temporal breakdown, the idle time by cause and the launches of one trace."""
    trace = TraceAnalysis(trace_files={rank: path})
    print(trace.get_temporal_breakdown(visualize=False))
    idle, _ = trace.get_idle_time_breakdown(ranks=[rank], visualize=False)
    print(idle)
    print(trace.get_cuda_kernel_launch_stats(ranks=[rank], visualize=False)[rank])


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
