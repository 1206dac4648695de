"""The accounting and the idle split against a second implementation that walks single microseconds."""

import random
from collections import Counter

import pytest
from builders import copy, kernel, launch, sync, timeline

from diagtool import diagnose

SPAN = 400


def random_trace(seed):
    """Works as (start, end, kind, launch or None), blocking calls as (start, end), and the events of both."""
    chance = random.Random(seed)
    works, blocks, events = [], [], []
    for id in range(1, chance.randint(2, 11)):
        start, kind = chance.randrange(SPAN), chance.choice(["compute", "communication", "copy"])
        end = start + chance.randint(1, 60)
        called = chance.randrange(SPAN)
        call = (called, called + chance.randint(0, 20)) if chance.random() < 0.7 else None
        works.append((start, end, kind, call))
        make = copy if kind == "copy" else kernel
        events.append(make(start, end, id=id, **({"name": "ncclKernel"} if kind == "communication" else {})))
        events += [launch(*call, id=id)] if call else []
    for id in range(chance.randint(0, 3)):
        start = chance.randrange(SPAN)
        blocks.append((start, start + chance.randint(1, 60)))
        events.append(sync(*blocks[-1], id=900 + id))
    return works, blocks, events


def walked(works, blocks):
    """Microseconds of the window by class, one at a time."""
    counted = Counter()
    first, last = min(work[0] for work in works), max(work[1] for work in works)
    for now in range(first, last):
        running = {kind for start, end, kind, _ in works if start <= now < end}
        if running:
            counted[next(f"time.{kind}" for kind in ("compute", "communication", "copy") if kind in running)] += 1
            continue
        until = min(start for start, *_ in works if start > now)
        calls = [call for start, end, _, call in works if start == until and call and call[0] <= end]
        if not calls:
            counted["idle.unknown"] += 1
        elif now < calls[0][0]:
            blocked = any(start <= now < end for start, end in blocks)
            counted["idle.sync" if blocked else "idle.host"] += 1
        else:
            counted["idle.launch" if now < calls[0][1] else "idle.queue"] += 1
    return counted, last - first


@pytest.mark.parametrize("seed", range(60))
def test_equal_to_a_walk_over_single_microseconds(tmp_path, seed):
    works, blocks, events = random_trace(seed)
    counted, length = walked(works, blocks)
    diagnosis = diagnose(timeline(tmp_path, *events))
    for name in ("time.compute", "time.communication", "time.copy"):
        assert diagnosis.metric(f"{name}_fraction").value == pytest.approx(counted[name] / length, abs=1e-12)
    for name in ("unknown", "sync", "host", "launch", "queue"):
        expected = counted[f"idle.{name}"] / length
        assert diagnosis.metric(f"idle.{name}_fraction").value == pytest.approx(expected, abs=1e-12), name
