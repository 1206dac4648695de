"""Sizes of a transformer that its work and its memory traffic follow from: presets, or a config.json."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from diagtool.errors import ConfigError, UnreadableInput
from diagtool.units import nearest

_ELEMENT_BYTES = {"float32": 4.0, "float16": 2.0, "bfloat16": 2.0, "float8": 1.0, "fp8": 1.0, "int8": 1.0, "int4": 0.5}
_NOT_MODELLED = {
    "kv_lora_rank": "latent attention", "n_shared_experts": "an expert for every token",
    "shared_expert_intermediate_size": "an expert for every token", "first_k_dense_replace": "a mix of kinds of layers",
    "mlp_only_layers": "a mix of kinds of layers", "sliding_window_pattern": "attention to a window",
}  # fmt: skip
_LARGEST_FILE = 16 << 20
_MOST_DEVICES = 1024


@dataclass(frozen=True, slots=True)
class ModelShapes:
    """A decoder-only transformer with grouped-query attention, and experts where ``experts`` is not 0.

    Sizes are counts; ``dtype`` is that of the weights, ``kv_dtype`` of the KV cache and the activations. Each token
    passes ``active_experts`` of the experts, each of width ``expert_size``; ``ffn_size`` is that of layers without
    experts. ``tensor_parallel`` devices share the model.
    """

    name: str
    layers: int
    hidden: int
    q_heads: int
    kv_heads: int
    head_dim: int
    ffn_size: int
    vocabulary: int
    dtype: str = "bfloat16"
    experts: int = 0
    active_experts: int = 0
    expert_size: int = 0
    tensor_parallel: int = 1
    kv_dtype: str = "bfloat16"

    @property
    def element_bytes(self) -> float:
        """Bytes of one weight."""
        return _ELEMENT_BYTES[self.dtype]

    @property
    def kv_element_bytes(self) -> float:
        """Bytes of one number in the KV cache, of a query or of an activation."""
        return _ELEMENT_BYTES[self.kv_dtype]

    @property
    def kv_bytes_per_token(self) -> float:
        """2 * layers * kv_heads * head_dim * bytes per element, definitions.md."""
        return 2 * self.layers * self.kv_heads * self.head_dim * self.kv_element_bytes

    @property
    def attention_weights(self) -> int:
        """Weights of the Q, K, V and output projections of all layers."""
        projected = (2 * self.q_heads + 2 * self.kv_heads) * self.head_dim
        return self.layers * self.hidden * projected

    def ffn_weights(self, tokens: int) -> float:
        """Weights of the feed-forward layers that a step of so many tokens reads: with experts, those it reaches.

        Gated layers have three matrices. Experts are taken as chosen evenly: expected number of distinct ones.
        """
        if not self.experts:
            return 3 * self.layers * self.hidden * self.ffn_size
        reached = self.experts * (1 - (1 - self.active_experts / self.experts) ** tokens)
        return 3 * self.layers * self.hidden * self.expert_size * reached

    @property
    def ffn_weights_per_token(self) -> int:
        """Weights of the feed-forward layers that one token is multiplied with."""
        width = self.active_experts * self.expert_size if self.experts else self.ffn_size
        return 3 * self.layers * self.hidden * width


# From the models' own config.json.
PRESETS: tuple[ModelShapes, ...] = (
    ModelShapes("llama-3.1-8b", 32, 4096, 32, 8, 128, 14336, 128256),
    ModelShapes("llama-3.1-70b", 80, 8192, 64, 8, 128, 28672, 128256),
    ModelShapes("llama-3.2-1b", 16, 2048, 32, 8, 64, 8192, 128256),
    ModelShapes("qwen2.5-7b", 28, 3584, 28, 4, 128, 18944, 152064),
    ModelShapes("qwen3-8b", 36, 4096, 32, 8, 128, 12288, 151936),
    ModelShapes("qwen3-32b", 64, 5120, 64, 8, 128, 25600, 151936),
    ModelShapes("qwen3-30b-a3b", 48, 2048, 32, 4, 128, 6144, 151936, "bfloat16", 128, 8, 768),
    ModelShapes("mistral-7b", 32, 4096, 32, 8, 128, 14336, 32768),
    ModelShapes("mixtral-8x7b", 32, 4096, 32, 8, 128, 14336, 32000, "bfloat16", 8, 2, 14336),
)


def load(text: str) -> ModelShapes:
    """The shapes of a preset's name or of a config.json (its path, or that of its folder), ``,tp=N`` where N devices
    share the model.

    ConfigError for an unknown preset, or a model of another kind; UnreadableInput for a file that is no JSON object.
    """
    name, comma, parallel = text.partition(",tp=")
    if comma and not (parallel.isdecimal() and 0 < int(parallel[:6]) <= _MOST_DEVICES):
        raise ConfigError(f"--model {text!r}: tp is a number of devices", f"write {name},tp=8")
    return replace(_of_one_device(name), tensor_parallel=int(parallel or 1))


def _of_one_device(text: str) -> ModelShapes:
    known = {preset.name: preset for preset in PRESETS}
    if text in known:
        return known[text]
    path = Path(text)
    path = path / "config.json" if path.is_dir() else path
    if not path.is_file():
        raise ConfigError(f"--model {text!r} is neither a preset nor a config.json", nearest(text, list(known)))
    return from_config(_object(path), str(path))


def from_config(given: Mapping[str, Any], name: str) -> ModelShapes:
    """The shapes that a model's config.json states. ConfigError names the key that is missing or wrong."""
    nested = given.get("text_config")
    config = {**given, **nested} if isinstance(nested, Mapping) else given
    for key, what in _NOT_MODELLED.items():
        if config.get(key):
            raise ConfigError(f"{name}: {what} ({key}) is not modelled", "leave --model out")
    hidden, q_heads = _count(config, "hidden_size", name), _count(config, "num_attention_heads", name)
    experts = max(_count(config, key, name, 0) for key in ("num_experts", "num_local_experts", "n_routed_experts"))
    ffn = _count(config, "intermediate_size", name)
    shapes = ModelShapes(
        name=name,
        layers=_count(config, "num_hidden_layers", name),
        hidden=hidden,
        q_heads=q_heads,
        kv_heads=_count(config, "num_key_value_heads", name, q_heads),
        head_dim=_count(config, "head_dim", name, hidden // q_heads),
        ffn_size=ffn,
        vocabulary=_count(config, "vocab_size", name),
        dtype=_dtype(config, name),
        kv_dtype=_known_dtype(config.get("dtype") or config.get("torch_dtype"), name),
        experts=experts,
        active_experts=_count(config, "num_experts_per_tok", name) if experts else 0,
        expert_size=_count(config, "moe_intermediate_size", name, ffn) if experts else 0,
    )
    if not shapes.head_dim or shapes.q_heads % shapes.kv_heads or shapes.active_experts > shapes.experts:
        raise ConfigError(f"{name}: its heads or experts do not fit each other", "give the model's own config.json")
    return shapes


def _object(path: Path) -> Mapping[str, Any]:
    try:
        if path.stat().st_size > _LARGEST_FILE:
            raise UnreadableInput(f"{path}: too large for a config.json", "give the model's config.json")
        given = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UnreadableInput(f"cannot read {path}: {error}", "give the model's config.json") from error
    if not isinstance(given, dict):
        raise UnreadableInput(f"{path}: not a JSON object", "give the model's config.json")
    return given


def _count(config: Mapping[str, Any], key: str, name: str, otherwise: int | None = None) -> int:
    value = config.get(key)
    if value is None and otherwise is not None:
        return otherwise
    if type(value) is not int or not 0 <= value < 1 << 31 or (value == 0 and otherwise != 0):
        raise ConfigError(f"{name}: {key} is {value!r}", "a whole number is needed: give the model's config.json")
    return value


def _dtype(config: Mapping[str, Any], name: str) -> str:
    """The type of the weights: that of the quantisation where there is one, by its name or its bits."""
    quantised = config.get("quantization_config")
    if not isinstance(quantised, Mapping):
        return _known_dtype(config.get("dtype") or config.get("torch_dtype"), name)
    method, bits = quantised.get("quant_method"), quantised.get("bits")
    return _known_dtype(method if method in _ELEMENT_BYTES or bits is None else f"int{bits}", name)


def _known_dtype(given: object, name: str) -> str:
    word = str(given or "bfloat16")
    if word not in _ELEMENT_BYTES:
        raise ConfigError(f"{name}: numbers of type {word!r} are not modelled", nearest(word, list(_ELEMENT_BYTES)))
    return word
