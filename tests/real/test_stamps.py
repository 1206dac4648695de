"""Every stamp of a trace with absolute decimal microseconds is exact."""

import gzip
import json
from decimal import Decimal

import pytest

from diagtool import read

pytestmark = pytest.mark.real_data


def test_every_stamp_is_exact(traces):
    path = traces / "hta/ns_resolution_v100.json.gz"
    data = json.loads(gzip.decompress(path.read_bytes()), parse_float=Decimal)
    spans = {"host": [], "device": []}
    for event in data["traceEvents"]:
        category = event.get("cat")
        if event.get("ph") == "X" and category in ("kernel", "gpu_memcpy", "gpu_memset"):
            spans["device"].append(event)
        elif event.get("ph") == "X" and category in ("cpu_op", "user_annotation", "cuda_runtime"):
            spans["host"].append(event)
    timeline = read(path)
    missed = 0
    for table, events in spans.items():
        frame = getattr(timeline, table)
        exact = sorted(
            (int(event["ts"] * 1000), int((event["ts"] + event["dur"]) * 1000), event["name"]) for event in events
        )
        found = sorted(
            zip(
                (frame["start_ns"] + timeline.origin_ns).tolist(),
                (frame["end_ns"] + timeline.origin_ns).tolist(),
                frame["name"].astype(str).tolist(),
                strict=True,
            )
        )
        assert found == exact
        missed += sum(int(float(event["ts"]) * 1000) != int(event["ts"] * 1000) for event in events)
    assert missed > 0.7 * sum(map(len, spans.values())), "through a float most of these stamps would be wrong"
