"""Llama (Touvron et al., 2023; grouped-query attention as in Llama 2 and 3).

The code names no strategy: placements stand in the layers' classes and in
`LlamaForCausalLM.redistribute_input`, and everything between is inferred.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dtorch
import dtorch.nn.functional as F
from dtorch import (
    DeviceMesh,
    Graph,
    Replicate,
    Shard,
    assign_layers_to_stages,
    get_default_device_mesh,
    nn,
)

from .config import LlamaConfig
from .rotary import LlamaRotaryEmbedding, apply_rotary
from .state import complete_state_dict, initialize

MESH_DIM_NAMES = {"dp", "tp", "pp", "ulysess_cp", "ulysses_cp", "ring_cp"}


class LlamaSdpaAttention(nn.Module):
    """Grouped-query attention; queries are sharded by head on the tp dim.

    Heads are never cut: `tp_unit=head_dim` gives each device whole heads, 5 and
    4 of 9. K/V heads are sharded too where they divide by tp; otherwise their
    small projections are replicated and attention takes the heads it needs.
    """

    def __init__(self, config: LlamaConfig, layer_idx: int | None = None):
        super().__init__()
        self.layer_idx = layer_idx
        self.hidden_size = config.hidden_size
        self.num_heads = config.num_attention_heads
        self.num_key_value_heads = config.num_key_value_heads
        self.head_dim = config.head_dim
        bias = config.attention_bias
        query_size = self.num_heads * self.head_dim
        self.q_proj = nn.ColumnParallelLinear(
            self.hidden_size, query_size, bias=bias, tp_unit=self.head_dim
        )
        self.k_proj = self._key_value_projection(bias)
        self.v_proj = self._key_value_projection(bias)
        self.o_proj = nn.RowParallelLinearWithReplicateOutput(
            query_size, self.hidden_size, bias=bias, tp_unit=self.head_dim
        )

    def _key_value_projection(self, bias: bool) -> nn.Linear:
        size = self.num_key_value_heads * self.head_dim
        if self.num_key_value_heads % _tp_degree():
            return nn.ReplicateParallelLinear(self.hidden_size, size, bias=bias)
        return nn.ColumnParallelLinear(self.hidden_size, size, bias=bias, tp_unit=self.head_dim)

    def forward(self, hidden_states: dtorch.Tensor, position_embeddings) -> dtorch.Tensor:
        bsz, q_len = hidden_states.shape[:2]
        cos, sin = position_embeddings

        def split_heads(x: dtorch.Tensor, heads: int) -> dtorch.Tensor:
            return x.view(bsz, q_len, heads, self.head_dim).transpose(1, 2)

        query_states = split_heads(self.q_proj(hidden_states), self.num_heads)
        key_states = split_heads(self.k_proj(hidden_states), self.num_key_value_heads)
        value_states = split_heads(self.v_proj(hidden_states), self.num_key_value_heads)
        query_states = apply_rotary(query_states, cos, sin)
        key_states = apply_rotary(key_states, cos, sin)

        # Context parallelism starts by itself on a mesh with a cp dim.
        attn_output = F.scaled_dot_product_attention(
            query_states, key_states, value_states, is_causal=True, enable_gqa=True
        )
        attn_output = attn_output.transpose(1, 2).reshape(
            bsz, q_len, self.num_heads * self.head_dim
        )
        return self.o_proj(attn_output)


class LlamaMLP(nn.Module):
    """down(silu(gate(x)) * up(x)), one all-reduce at its end under tp."""

    def __init__(self, config: LlamaConfig):
        super().__init__()
        hidden, inner, bias = config.hidden_size, config.intermediate_size, config.mlp_bias
        self.gate_proj = nn.ColumnParallelLinear(hidden, inner, bias=bias)
        self.up_proj = nn.ColumnParallelLinear(hidden, inner, bias=bias)
        self.down_proj = nn.RowParallelLinearWithReplicateOutput(inner, hidden, bias=bias)

    def forward(self, x: dtorch.Tensor) -> dtorch.Tensor:
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class LlamaDecoderLayer(nn.Module):
    """Attention and MLP, each behind a norm and beside a residual."""

    def __init__(self, config: LlamaConfig, layer_idx: int | None = None):
        super().__init__()
        self.self_attn = LlamaSdpaAttention(config, layer_idx)
        self.mlp = LlamaMLP(config)
        self.input_layernorm = nn.RMSNorm(config.hidden_size, eps=config.rms_norm_eps)
        self.post_attention_layernorm = nn.RMSNorm(config.hidden_size, eps=config.rms_norm_eps)

    def forward(self, hidden_states: dtorch.Tensor, position_embeddings) -> dtorch.Tensor:
        attended = self.self_attn(
            self.input_layernorm(hidden_states), position_embeddings=position_embeddings
        )
        hidden_states = hidden_states + attended
        return hidden_states + self.mlp(self.post_attention_layernorm(hidden_states))


class LlamaModel(nn.Module):
    """Embedding, decoder layers spread over the pipeline stages, final norm."""

    def __init__(self, config: LlamaConfig, device_mesh: DeviceMesh):
        super().__init__()
        self.config = config
        # One mesh per stage; without a "pp" dim the whole mesh is the one stage.
        self.pp_stage_meshes = device_mesh.unbind("pp")
        self.layer_stage_ids = assign_layers_to_stages(
            config.num_hidden_layers, len(self.pp_stage_meshes)
        )
        with Graph.default_graph().device_mesh_guard(self.pp_stage_meshes[0]):
            self.rotary_emb = LlamaRotaryEmbedding(config=config)
            self.embed_tokens = nn.EmbeddingWithReplicateOutput(
                config.vocab_size, config.hidden_size
            )
        self.layers = nn.ModuleList()
        for layer_idx in range(config.num_hidden_layers):
            with Graph.default_graph().device_mesh_guard(self._stage_mesh(layer_idx)):
                self.layers.append(LlamaDecoderLayer(config, layer_idx))
        with Graph.default_graph().device_mesh_guard(self.pp_stage_meshes[-1]):
            self.norm = nn.RMSNorm(config.hidden_size, eps=config.rms_norm_eps)

    def _stage_mesh(self, layer_idx: int) -> DeviceMesh:
        return self.pp_stage_meshes[self.layer_stage_ids[layer_idx]]

    def forward(self, input_ids: dtorch.Tensor) -> dtorch.Tensor:
        hidden_states = self.embed_tokens(input_ids)
        position_ids = dtorch.arange(
            hidden_states.shape[1], device_mesh=hidden_states.device_mesh
        ).unsqueeze(0)
        position_embeddings = self.rotary_emb(hidden_states, position_ids)

        for layer_idx, decoder_layer in enumerate(self.layers):
            # No-ops but where the next layer lives on another stage.
            stage_mesh = self._stage_mesh(layer_idx)
            hidden_states = hidden_states.redistribute(
                device_mesh=stage_mesh, placements=hidden_states.placements
            )
            position_embeddings = [
                table.redistribute(device_mesh=stage_mesh, placements=table.placements)
                for table in position_embeddings
            ]
            hidden_states = decoder_layer(hidden_states, position_embeddings=position_embeddings)

        hidden_states = hidden_states.redistribute(
            device_mesh=self.pp_stage_meshes[-1], placements=hidden_states.placements
        )
        return self.norm(hidden_states)


class LlamaForCausalLM(nn.Module):
    """Token ids [batch, length] to logits [batch, length, vocab_size].

    `config` is a LlamaConfig, a dict, or a Hugging Face config. `device_mesh`
    may have the dims dp, tp, pp, ulysess_cp and ring_cp, any of them of size 1.
    Ids come on any mesh (or none); logits go back to where the ids were.
    """

    def __init__(self, config: Any, device_mesh: DeviceMesh | None = None):
        super().__init__()
        config = LlamaConfig.of(config)
        device_mesh = get_default_device_mesh(device_mesh=device_mesh)
        device_mesh.check_all_dim_names_in_set(MESH_DIM_NAMES)
        self.config = config
        self.model = LlamaModel(config, device_mesh)
        with Graph.default_graph().device_mesh_guard(self.model.pp_stage_meshes[-1]):
            self.lm_head = nn.ColumnParallelLinear(
                config.hidden_size, config.vocab_size, bias=False
            )
        initialize(self)

    def redistribute_input(self, input_ids: dtorch.Tensor):
        self.input_device_mesh = input_ids.device_mesh
        self.input_placement = input_ids.placements
        # Names that the mesh lacks are ignored.
        input_ids = input_ids.redistribute_by_dict(
            self.first_param_device_mesh(),
            placements_dict={
                "dp": Shard(0),
                "tp": Replicate(),
                "ulysess_cp": Shard(1),
                "ulysses_cp": Shard(1),
                "ring_cp": Shard(1),
            },
        )
        return [input_ids], {}

    def forward(self, input_ids: dtorch.Tensor) -> dtorch.Tensor:
        return self.lm_head(self.model(input_ids))

    def redistribute_output(self, logits: dtorch.Tensor) -> dtorch.Tensor:
        return logits.redistribute(self.input_device_mesh, placements=self.input_placement)

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True):
        """As in PyTorch; with tied embeddings `lm_head.weight` may be absent.

        A tied pair with two different values is an error.
        """
        return super().load_state_dict(complete_state_dict(self.config, state_dict), strict)

    @classmethod
    def from_pretrained(cls, folder, device_mesh: DeviceMesh | None = None) -> LlamaForCausalLM:
        """A model with the config and weights of a Hugging Face folder of safetensors."""
        from dtorch.weights import load_pretrained

        model = cls(LlamaConfig.from_json(folder), device_mesh=device_mesh)
        load_pretrained(model, folder)
        return model


def _tp_degree() -> int:
    """Size of the tp dim of the mesh that new parameters go to."""
    device_mesh = get_default_device_mesh()
    axis = device_mesh.dim_name_index("tp")
    return 1 if axis is None else device_mesh.shape[axis]
