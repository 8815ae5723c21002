"""Words in which programs say how a model would be divided among processes: plain values. What
takes them, FullyShardedDataParallel, is not available.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

import flambeau
from flambeau.nn import Module
from flambeau.nn.batchnorm import _BatchNorm

__all__ = [
    "BackwardPrefetch",
    "CPUOffload",
    "FullOptimStateDictConfig",
    "FullStateDictConfig",
    "LocalOptimStateDictConfig",
    "LocalStateDictConfig",
    "MixedPrecision",
    "OptimStateDictConfig",
    "ShardedOptimStateDictConfig",
    "ShardedStateDictConfig",
    "ShardingStrategy",
    "StateDictConfig",
    "StateDictSettings",
    "StateDictType",
]


class ShardingStrategy(Enum):
    """What is divided: parameters, gradients and state of optimizers, a part of these, or nothing.

    Example:
        >>> from flambeau.distributed.fsdp import ShardingStrategy
        >>> ShardingStrategy["NO_SHARD"].name
        'NO_SHARD'
    """

    FULL_SHARD = auto()
    SHARD_GRAD_OP = auto()
    NO_SHARD = auto()
    HYBRID_SHARD = auto()
    _HYBRID_SHARD_ZERO2 = auto()


class BackwardPrefetch(Enum):
    """When the next parameters are fetched in backward: before or after a gradient is computed.

    Example:
        >>> from flambeau.distributed.fsdp import BackwardPrefetch
        >>> [member.name for member in BackwardPrefetch]
        ['BACKWARD_PRE', 'BACKWARD_POST']
    """

    BACKWARD_PRE = auto()
    BACKWARD_POST = auto()


class StateDictType(Enum):
    """Whether a state_dict holds whole parameters, or a process's part of them.

    Example:
        >>> from flambeau.distributed.fsdp import StateDictType
        >>> [member.name for member in StateDictType]
        ['FULL_STATE_DICT', 'LOCAL_STATE_DICT', 'SHARDED_STATE_DICT']
    """

    FULL_STATE_DICT = auto()
    LOCAL_STATE_DICT = auto()
    SHARDED_STATE_DICT = auto()


@dataclass(frozen=True)
class MixedPrecision:
    """The dtypes in which a model computes, gradients are added up, and buffers are.

    Args:
        param_dtype, reduce_dtype, buffer_dtype: None: those of the model.
        keep_low_precision_grads: whether gradients stay in that dtype.
        cast_forward_inputs, cast_root_forward_inputs: whether arguments are converted.
        _module_classes_to_ignore: layers that keep their dtype.

    Raises:
        TypeError: if a dtype is none.

    Example:
        >>> from flambeau.distributed.fsdp import MixedPrecision
        >>> MixedPrecision(param_dtype=flambeau.bfloat16).param_dtype
        flambeau.bfloat16
    """

    param_dtype: Any = None
    reduce_dtype: Any = None
    buffer_dtype: Any = None
    keep_low_precision_grads: bool = False
    cast_forward_inputs: bool = False
    cast_root_forward_inputs: bool = True
    _module_classes_to_ignore: Sequence[type[Module]] = (_BatchNorm,)

    def __post_init__(self) -> None:
        for name in ("param_dtype", "reduce_dtype", "buffer_dtype"):
            given = getattr(self, name)
            if given is not None and not isinstance(given, flambeau.dtype):
                raise TypeError(
                    f"MixedPrecision: {name} must be a dtype or None, got {type(given).__name__}"
                )


@dataclass
class CPUOffload:
    """Whether parameters wait in the memory of the processor.

    Example:
        >>> from flambeau.distributed.fsdp import CPUOffload
        >>> CPUOffload()
        CPUOffload(offload_params=False)
    """

    offload_params: bool = False


@dataclass
class StateDictConfig:
    """How a state_dict is made.

    Args:
        offload_to_cpu: whether tensors are copied to the processor.

    Example:
        >>> from flambeau.distributed.fsdp import StateDictConfig
        >>> StateDictConfig()
        StateDictConfig(offload_to_cpu=False)
    """

    offload_to_cpu: bool = False


@dataclass
class FullStateDictConfig(StateDictConfig):
    """Of one with whole parameters.

    Args:
        offload_to_cpu: whether tensors are copied to the processor.
        rank0_only: whether other processes get nothing.

    Example:
        >>> from flambeau.distributed.fsdp import FullStateDictConfig
        >>> FullStateDictConfig(rank0_only=True)
        FullStateDictConfig(offload_to_cpu=False, rank0_only=True)
    """

    rank0_only: bool = False


@dataclass
class LocalStateDictConfig(StateDictConfig):
    """Of one with a process's own part.

    Args:
        offload_to_cpu: whether tensors are copied to the processor.

    Example:
        >>> flambeau.distributed.fsdp.LocalStateDictConfig()
        LocalStateDictConfig(offload_to_cpu=False)
    """


@dataclass
class ShardedStateDictConfig(StateDictConfig):
    """Of one with parts that say where they belong.

    Args:
        offload_to_cpu: whether tensors are copied to the processor.

    Example:
        >>> flambeau.distributed.fsdp.ShardedStateDictConfig()
        ShardedStateDictConfig(offload_to_cpu=False, _use_dtensor=False)
    """

    _use_dtensor: bool = False


@dataclass
class OptimStateDictConfig:
    """How the state_dict of an optimizer is made.

    Args:
        offload_to_cpu: whether tensors are copied to the processor.

    Example:
        >>> flambeau.distributed.fsdp.OptimStateDictConfig()
        OptimStateDictConfig(offload_to_cpu=True)
    """

    offload_to_cpu: bool = True


@dataclass
class FullOptimStateDictConfig(OptimStateDictConfig):
    """Of one with whole tensors.

    Args:
        offload_to_cpu: whether tensors are copied to the processor.
        rank0_only: whether other processes get nothing.

    Example:
        >>> flambeau.distributed.fsdp.FullOptimStateDictConfig()
        FullOptimStateDictConfig(offload_to_cpu=True, rank0_only=False)
    """

    rank0_only: bool = False


@dataclass
class LocalOptimStateDictConfig(OptimStateDictConfig):
    """Of one with a process's own part.

    Args:
        offload_to_cpu: whether tensors are copied to the processor.

    Example:
        >>> flambeau.distributed.fsdp.LocalOptimStateDictConfig()
        LocalOptimStateDictConfig(offload_to_cpu=False)
    """

    offload_to_cpu: bool = False


@dataclass
class ShardedOptimStateDictConfig(OptimStateDictConfig):
    """Of one with parts that say where they belong.

    Args:
        offload_to_cpu: whether tensors are copied to the processor.

    Example:
        >>> flambeau.distributed.fsdp.ShardedOptimStateDictConfig()
        ShardedOptimStateDictConfig(offload_to_cpu=True, _use_dtensor=False)
    """

    _use_dtensor: bool = False


@dataclass
class StateDictSettings:
    """Which kind of state_dict is made, and how.

    Args:
        state_dict_type: the kind.
        state_dict_config: how that of a model is made.
        optim_state_dict_config: how that of an optimizer is made.

    Example:
        >>> from flambeau.distributed.fsdp import StateDictSettings, StateDictType
        >>> StateDictSettings(StateDictType.FULL_STATE_DICT).optim_state_dict_config
        FullOptimStateDictConfig(offload_to_cpu=True, rank0_only=False)
    """

    state_dict_type: StateDictType
    state_dict_config: StateDictConfig = field(default_factory=FullStateDictConfig)
    optim_state_dict_config: OptimStateDictConfig = field(default_factory=FullOptimStateDictConfig)
