"""What the mark of an engine or training step says: its kind, and the sums of tokens that its name carries.

vLLM and SGLang write the sums into the name of the range. With N_Q the new tokens of a request and N_KV its context,
``sq`` is the sum of N_Q over the requests of the step, ``sk`` of N_KV, ``sqsq`` of N_Q^2 and ``sqsk`` of N_Q * N_KV,
each for the requests in prefill (context) and in decode (generation).
"""

import re
from typing import Any

_KINDS = (
    ("ProfilerStep", re.compile(r"^ProfilerStep#?\s*\d+")),
    ("vllm", re.compile(r"^execute_(?:(?:\d+_)?context|new)_\d+")),
    ("sglang", re.compile(r"^step\[")),
    ("diffusion", re.compile(r"^execute_diffusion_")),
)
_SUMS = r"\(sq(\d{1,15})sk(\d{1,15})sqsq(\d{1,18})sqsk(\d{1,18})\)"
_FULL = re.compile(rf"^execute_\d+_context_(\d{{1,9}}){_SUMS}_generation_(\d{{1,9}}){_SUMS}")
# Requests and new tokens of each phase, here and there with the sum of their squares behind the prefill's.
_SHORT = re.compile(r"^execute_context_(\d{1,9})\((\d{1,15})(?:_(\d{1,18}))?\)_generation_(\d{1,9})\((\d{1,15})\)$")
_COUNTS = re.compile(r"^execute_new_(\d{1,9})_cached_(\d{1,9})$")
_SGLANG = re.compile(r"^step\[(\w+) bs=(\d{1,9})(?!\d)(?: toks=(\d{1,15})(?!\d))?")
_ORDER = ("sum_q", "sum_kv", "sum_q2", "sum_q_kv")


def kind(name: str) -> str | None:
    """The kind of step a range marks, or None."""
    return next((kind for kind, pattern in _KINDS if pattern.match(name)), None)


def sums(name: str) -> dict[str, int]:
    """Columns of ``steps`` that the name of a mark states, and their values; what it does not state is absent.

    ``running`` counts the requests of the step.
    """
    if found := _FULL.match(name):
        requests, *prefill = map(int, found.groups()[:5])
        decoding, *decode = map(int, found.groups()[5:])
        values = {f"prefill_{column}": value for column, value in zip(_ORDER, prefill, strict=True)}
        values |= {f"decode_{column}": value for column, value in zip(_ORDER, decode, strict=True)}
        return values | {"running": requests + decoding}
    if found := _SHORT.match(name):
        return _short(*(None if part is None else int(part) for part in found.groups()))
    if found := _COUNTS.match(name):
        return {"running": int(found[1]) + int(found[2])}
    if found := _SGLANG.match(name):
        return _sglang(found[1].upper(), int(found[2]), found[3])
    return {}


def _short(
    prefilling: int | None, tokens: int | None, squares: int | None, decoding: int | None, decoded: int | None
) -> dict[str, int]:
    """It says nothing of the contexts, but a phase without tokens has none."""
    values = {"running": (prefilling or 0) + (decoding or 0)}
    for phase, count in (("prefill", tokens or 0), ("decode", decoded or 0)):
        columns = ("sum_q",) if count else ("sum_q", *_ORDER[1:])
        values |= {f"{phase}_{column}": count for column in columns}
    return values if squares is None or not tokens else values | {"prefill_sum_q2": squares}


def _sglang(mode: str, requests: int, tokens: str | None) -> dict[str, int]:
    if mode == "DECODE":
        return {"running": requests, "prefill_sum_q": 0, "decode_sum_q": requests}
    if mode == "EXTEND" and tokens is not None:
        return {"running": requests, "prefill_sum_q": int(tokens), "decode_sum_q": 0}
    return {"running": requests} if mode != "IDLE" else {"running": 0}


def columns(names: list[str]) -> dict[str, list[Any]]:
    """The columns of ``steps`` that any of these names states; None where one does not."""
    stated = [sums(name) for name in names]
    used = dict.fromkeys(column for one in stated for column in one)
    return {column: [one.get(column) for one in stated] for column in used}
