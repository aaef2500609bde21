"""Llama's config and its rotary frequencies (known answers)."""

import numpy as np
import pytest

from dtorch.models.llama import LlamaConfig, inverse_frequencies

LLAMA3 = {
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}


def small(**values):
    return LlamaConfig(hidden_size=32, num_attention_heads=2, **values)


def test_plain_frequencies():
    expected = [10000.0 ** (-i / 16) for i in range(0, 16, 2)]
    np.testing.assert_allclose(inverse_frequencies(small()), expected, rtol=1e-6)


@pytest.mark.parametrize("spelling", ["rope_type", "type"])
def test_llama3_frequencies(spelling):
    expected = [
        1,
        0.244384599,
        0.013042256,
        0.003952847,
        0.00125,
        0.000395285,
        0.000125,
        3.95285e-5,
    ]
    config = small(rope_scaling={spelling: "llama3", **LLAMA3})
    np.testing.assert_allclose(inverse_frequencies(config), expected, rtol=2e-5)


@pytest.mark.parametrize("factor", [8.0, 32.0])
def test_llama3_frequencies_of_a_real_size(factor):
    scaling = {**LLAMA3, "factor": factor, "original_max_position_embeddings": 8192}
    plain = LlamaConfig(hidden_size=128, num_attention_heads=2, rope_theta=500000.0)
    scaled = LlamaConfig(
        hidden_size=128,
        num_attention_heads=2,
        rope_theta=500000.0,
        rope_scaling={"rope_type": "llama3", **scaling},
    )
    before, after = inverse_frequencies(plain), inverse_frequencies(scaled)
    np.testing.assert_array_equal(after[:15], before[:15])
    np.testing.assert_allclose(after[18:], before[18:] / factor, rtol=1e-6)
    if factor == 8.0:
        np.testing.assert_allclose(after[15:18], [0.001371894, 0.000524846, 0.000178508], rtol=2e-5)
        np.testing.assert_allclose(after[18], 7.784655e-05, rtol=2e-5)


def test_frequencies_agree_with_hugging_face():
    transformers = pytest.importorskip("transformers")
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

    parameters = {"rope_type": "llama3", "rope_theta": 500000.0, **LLAMA3}
    config = transformers.LlamaConfig(
        hidden_size=128, num_attention_heads=2, rope_parameters=parameters
    )
    theirs = LlamaRotaryEmbedding(config).inv_freq.numpy()
    np.testing.assert_allclose(inverse_frequencies(LlamaConfig.of(config)), theirs, rtol=1e-6)


def test_unknown_rope_type_is_named():
    with pytest.raises(NotImplementedError, match="yarn"):
        inverse_frequencies(small(rope_scaling={"rope_type": "yarn", "factor": 2.0}))


def test_new_and_old_files_say_the_same():
    old = {"rope_theta": 5e5, "rope_scaling": {"type": "llama3", **LLAMA3}}
    new = {"rope_parameters": {"rope_type": "llama3", "rope_theta": 5e5, **LLAMA3}}
    sizes = {"hidden_size": 32, "num_attention_heads": 2}
    a, b = (LlamaConfig.from_dict({**sizes, **rope}) for rope in (old, new))
    assert a.rope_theta == b.rope_theta == 5e5
    np.testing.assert_array_equal(inverse_frequencies(a), inverse_frequencies(b))


def test_head_dim():
    assert small().head_dim == 16
    assert small(head_dim=6).head_dim == 6
    assert LlamaConfig.of({"hidden_size": 32, "num_attention_heads": 4}).num_key_value_heads == 4


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"hidden_size": 30, "num_attention_heads": 4}, "30 is not a multiple"),
        ({"num_attention_heads": 8, "num_key_value_heads": 3}, "multiple of num_key_value_heads 3"),
        ({"hidden_size": 6, "num_attention_heads": 2}, "must be even .* got 3"),
        ({"hidden_act": "gelu"}, "'gelu'"),
    ],
)
def test_impossible_configs_are_errors(values, message):
    with pytest.raises(ValueError, match=message):
        LlamaConfig(**values)


def test_unknown_description_is_an_error():
    with pytest.raises(TypeError, match="got int"):
        LlamaConfig.of(3)
