"""Policies that say which modules are wrapped, and modules that are computed again."""

from __future__ import annotations

import pickle
from functools import partial
from typing import Any, cast

import pytest

import flambeau
from flambeau import nn
from flambeau.distributed import fsdp
from flambeau.distributed.algorithms._checkpoint.checkpoint_wrapper import (
    CheckpointImpl,
    CheckpointWrapper,
    apply_activation_checkpointing,
    checkpoint_wrapper,
    offload_wrapper,
)
from flambeau.distributed.fsdp import FullyShardedDataParallel
from flambeau.distributed.fsdp.wrap import (
    CustomPolicy,
    ModuleWrapPolicy,
    _or_policy,
    _recursive_wrap,
    enable_wrap,
    lambda_auto_wrap_policy,
    size_based_auto_wrap_policy,
    transformer_auto_wrap_policy,
    wrap,
)


class _Wrapper(nn.Module):
    def __init__(self, inside: nn.Module, tag: int = 0) -> None:
        super().__init__()
        self.inside, self.tag = inside, tag


def _model() -> nn.Module:
    few = nn.ModuleList([nn.Linear(3, 3), nn.Linear(20, 20)])
    return nn.Sequential(nn.Linear(10, 10), few, nn.MultiheadAttention(8, 2), nn.ReLU())


_many: Any = partial(size_based_auto_wrap_policy, min_num_params=100)
_linear, _relu = ModuleWrapPolicy({nn.Linear}), ModuleWrapPolicy([nn.ReLU])


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        # What is left of the list is too little; attention is not asked, and counts for the model.
        (_many, ["", "0", "1.1"]),
        (
            partial(_many, force_leaf_modules=set(), exclude_wrap_modules={nn.Linear}),
            ["", "1", "2"],
        ),
        (_linear, ["0", "1.0", "1.1", "2.out_proj"]),
        (partial(transformer_auto_wrap_policy, transformer_layer_cls={nn.ReLU}), ["3"]),
        (partial(lambda_auto_wrap_policy, lambda_fn=lambda m: isinstance(m, nn.ReLU)), ["3"]),
        (partial(_or_policy, policies=[_many, _relu]), ["0", "1.1", "2", "3"]),
    ],
)
def test_which_modules_are_wrapped(policy: Any, expected: list[str]) -> None:
    model = _recursive_wrap(_model(), policy, _Wrapper, set(), set())[0]
    names = [name for name, m in model.named_modules() if isinstance(m, _Wrapper)]
    found = {".".join(p for p in name.split(".") if p != "inside") for name in names}
    assert sorted(found) == expected


def test_wrapping_in_a_block() -> None:
    relu = nn.ReLU()
    assert wrap(relu) is relu
    with enable_wrap(wrapper_cls=_Wrapper, tag=5):
        assert [wrap(relu).tag, wrap(relu, tag=9).tag] == [5, 9]
        with pytest.raises(NotImplementedError, match="another"), enable_wrap(wrapper_cls=_Wrapper):
            pass
    with (
        enable_wrap(wrapper_cls=FullyShardedDataParallel),
        pytest.raises(NotImplementedError, match="models are whole in each process"),
    ):
        wrap(relu)
    model = _model()
    told = CustomPolicy(lambda m: {"tag": 3} if isinstance(m, nn.ReLU) else False)
    assert told._run_policy(model, set(), {"tag": 1, "x": 2}) == {model[3]: {"tag": 3, "x": 2}}
    told = CustomPolicy(lambda m: cast(Any, "yes"))
    with pytest.raises(ValueError, match="a bool or a dict"):
        told._run_policy(model, set(), {})


@pytest.mark.parametrize("way", list(CheckpointImpl))
def test_gradients_and_states_are_those_of_the_module(way: CheckpointImpl) -> None:
    flambeau.manual_seed(0)
    plain = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.Linear(4, 2))
    other = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.Linear(4, 2))
    wrapper = partial(checkpoint_wrapper, checkpoint_impl=way)
    apply_activation_checkpointing(other, wrapper, auto_wrap_policy=_linear)
    other[1] = offload_wrapper(wrapper(other[1]))
    assert isinstance(other[0], CheckpointWrapper) and list(other.state_dict()) == list(
        plain.state_dict()
    )
    other.load_state_dict(plain.state_dict())
    assert other[0].out_features == 4 and [n for n, _ in other[0].named_parameters()] == [
        "weight",
        "bias",
    ]
    x = flambeau.randn(3, 4, requires_grad=True)
    for model in (plain, other):
        flambeau.manual_seed(1)
        model(x).square().sum().backward()
    for a, b in zip(plain.parameters(), other.parameters(), strict=True):
        assert a.grad is not None and b.grad is not None and flambeau.equal(a.grad, b.grad)


def test_words_of_configurations() -> None:
    precision = fsdp.MixedPrecision(param_dtype=flambeau.bfloat16)
    assert precision.param_dtype is flambeau.bfloat16 and precision.reduce_dtype is None
    kept = precision._module_classes_to_ignore
    assert isinstance(nn.BatchNorm2d(1), tuple(kept)) and not isinstance(nn.Linear(1, 1), kept)
    settings = fsdp.StateDictSettings(fsdp.StateDictType.SHARDED_STATE_DICT)
    assert pickle.loads(pickle.dumps(settings)) == settings
    assert [strategy.value for strategy in fsdp.ShardingStrategy] == [1, 2, 3, 4, 5]
    with pytest.raises(TypeError, match="buffer_dtype must be a dtype or None, got str"):
        fsdp.MixedPrecision(buffer_dtype="bfloat16")
    with pytest.raises(NotImplementedError, match="FullyShardedDataParallel is not available"):
        fsdp.FullyShardedDataParallel(nn.Linear(1, 1), mixed_precision=precision)
