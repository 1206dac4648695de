"""Shapes of models: presets, and a config.json with everything that may be wrong in it."""

import json

import pytest

from diagtool.errors import ConfigError, UnreadableInput
from diagtool.model_shapes import PRESETS, from_config, load

LLAMA = {
    "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8,
    "intermediate_size": 14336, "vocab_size": 128256, "torch_dtype": "bfloat16",
}  # fmt: skip


def test_a_config_gives_what_the_preset_has():
    shapes, (preset,) = from_config(LLAMA, "x"), [one for one in PRESETS if one.name == "llama-3.1-8b"]
    assert shapes.kv_bytes_per_token == preset.kv_bytes_per_token == 131072
    assert shapes.attention_weights == preset.attention_weights
    assert shapes.head_dim == 128


# Parameters in billions as the models' cards state them. The smallest shares its embedding with its head.
PARAMETERS = {
    "llama-3.1-8b": 8.03, "llama-3.1-70b": 70.6, "llama-3.2-1b": 1.24, "qwen2.5-7b": 7.61, "qwen3-8b": 8.19,
    "qwen3-32b": 32.8, "qwen3-30b-a3b": 30.5, "mistral-7b": 7.25, "mixtral-8x7b": 46.7,
}  # fmt: skip


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.name)
def test_presets_have_as_many_weights_as_their_cards_say(preset):
    width = preset.experts * preset.expert_size if preset.experts else preset.ffn_size
    matrices = preset.attention_weights + 3 * preset.layers * preset.hidden * width
    embeddings = (1 if preset.name == "llama-3.2-1b" else 2) * preset.vocabulary * preset.hidden
    assert (matrices + embeddings) / 1e9 == pytest.approx(PARAMETERS[preset.name], rel=0.005)


def test_a_file_or_its_folder_and_a_number_of_devices(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    assert load(str(tmp_path / "config.json")).layers == 32
    assert load(f"{tmp_path},tp=4").tensor_parallel == 4


def test_experts_and_quantised_weights():
    shapes = from_config(
        LLAMA | {"num_local_experts": 8, "num_experts_per_tok": 2, "quantization_config": {"quant_method": "fp8"}}, "x"
    )
    assert (shapes.experts, shapes.active_experts, shapes.expert_size) == (8, 2, 14336)
    assert (shapes.element_bytes, shapes.kv_element_bytes) == (1.0, 2.0)
    assert from_config(LLAMA | {"quantization_config": {"quant_method": "awq", "bits": 4}}, "x").element_bytes == 0.5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"num_hidden_layers": None}, "num_hidden_layers is None"), ({"hidden_size": "4096"}, "hidden_size is '4096'"),
        ({"hidden_size": 0}, "hidden_size is 0"), ({"num_attention_heads": -1}, "num_attention_heads"),
        ({"torch_dtype": "nf4"}, "'nf4' are not modelled"), ({"kv_lora_rank": 512}, "latent attention"),
        ({"num_experts": 8}, "num_experts_per_tok is None"), ({"vocab_size": True}, "vocab_size is True"),
        ({"quantization_config": {"quant_method": "awq"}}, "'awq' are not modelled"),
        ({"quantization_config": {"quant_method": "gptq", "bits": 3}}, "'int3' are not modelled"),
        ({"hidden_size": 10}, "do not fit each other"), ({"num_key_value_heads": 3}, "do not fit each other"),
        ({"num_key_value_heads": 64}, "do not fit each other"), ({"n_shared_experts": 1}, "expert for every token"),
        ({"num_experts": 8, "num_experts_per_tok": 80}, "do not fit each other"),
    ],
)  # fmt: skip
def test_a_config_that_cannot_be_modelled_says_why(change, message):
    with pytest.raises(ConfigError, match=message):
        from_config(LLAMA | change, "x")


@pytest.mark.parametrize("text", ["", "[1]", "{", "\x00", '{"a": NaN', "[" * 100_000])
def test_a_file_that_is_no_object_is_unreadable(tmp_path, text):
    path = tmp_path / "config.json"
    path.write_text(text)
    with pytest.raises(UnreadableInput):
        load(str(path))
