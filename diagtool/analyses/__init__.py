"""Analyses: one file per question. Adding one is a file and a line in ANALYSES."""

from diagtool.analyses import (
    communication,
    copies,
    graphs,
    idle_causes,
    kernels,
    launch_gaps,
    roofline,
    sm_utilization,
    start_up,
    steps,
    time_accounting,
    trace_integrity,
    work_done,
)
from diagtool.analyses.analysis import Analysis

ANALYSES: tuple[Analysis, ...] = (
    Analysis("time_accounting", "Where did the time of each device go?", ("device",), time_accounting.run),
    Analysis("idle_causes", "Why was the device idle?", ("device",), idle_causes.run),
    Analysis("launch_gaps", "How fast is work issued, and how long does it wait?", ("device",), launch_gaps.run),
    Analysis("kernels", "Which kernels took the time?", ("device",), kernels.run),
    Analysis("sm_utilization", "How much of the device do the kernels fill?", ("device",), sm_utilization.run),
    Analysis("communication", "What did communication cost, and who waits for whom?", ("device",), communication.run),
    Analysis("copies", "What was copied, how fast, and was it hidden?", ("device",), copies.run),
    Analysis("graphs", "How much of the work is launched as GPU graphs?", ("device",), graphs.run),
    Analysis("steps", "How long does a step take, and which stand out?", ("device",), steps.run),
    Analysis("roofline", "How near are attention and linear layers to the roofs?", ("device",), roofline.run),
    Analysis("work_done", "How much work was done?", ("device",), work_done.run),
    Analysis("start_up", "What was compiled, tuned or loaded while recording?", ("device",), start_up.run),
    Analysis("trace_integrity", "Can the trace be believed?", (), trace_integrity.run),
)
