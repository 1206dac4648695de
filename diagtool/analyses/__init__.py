"""Analyses: one file per question. Adding one is a file and a line in ANALYSES."""

from diagtool.analyses import idle_causes, launch_gaps, time_accounting, trace_integrity
from diagtool.analyses.analysis import Analysis

ANALYSES: tuple[Analysis, ...] = (
    Analysis("time_accounting", "Where did the time of each device go?", ("device",), time_accounting.run),
    Analysis("idle_causes", "Why was the device idle?", ("device",), idle_causes.run),
    Analysis("launch_gaps", "How fast is work issued, and how long does it wait?", ("device",), launch_gaps.run),
    Analysis("trace_integrity", "Can the trace be believed?", (), trace_integrity.run),
)
