"""One module on several devices, a part of the batch on each."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau.nn.module import Module

Device = int | str | flambeau.device


def _device(device: Device) -> flambeau.device:
    """A device; an int is one of CUDA."""
    return flambeau.device(f"cuda:{device}" if isinstance(device, int) else device)


def scatter(inputs: Any, target_gpus: Sequence[Device], dim: int = 0) -> Any:
    """Parts of tensors, one for each device.

    Args:
        inputs: a tensor, or tensors in tuples, lists and dicts; what is no tensor goes everywhere.
        target_gpus: devices; ints are of CUDA.
        dim: the dimension that is split.

    Returns:
        A tuple of what was given, for each device that gets a part.

    Example:
        >>> flambeau.nn.parallel.scatter({"x": flambeau.arange(4), "scale": 2}, ["cpu", "cpu"])
        ({'x': tensor([0, 1]), 'scale': 2}, {'x': tensor([2, 3]), 'scale': 2})
    """
    devices = [_device(device) for device in target_gpus]
    if isinstance(inputs, Tensor):
        parts = inputs.chunk(len(devices), dim)
        return tuple(part.to(device) for part, device in zip(parts, devices, strict=False))
    if isinstance(inputs, tuple | list) and inputs:
        columns = [scatter(item, target_gpus, dim) for item in inputs]
        return tuple(_alike(inputs, row) for row in zip(*columns, strict=False))
    if isinstance(inputs, dict) and inputs:
        rows = scatter(list(inputs.values()), target_gpus, dim)
        return tuple(type(inputs)(zip(inputs, row, strict=True)) for row in rows)
    return tuple(inputs for _ in devices)


def gather(outputs: Any, target_device: Device, dim: int = 0) -> Any:
    """The parts of results joined on one device; the counterpart of `scatter`.

    Args:
        outputs: the results of the devices, alike: tensors, or these in tuples, lists and dicts.
        target_device: where they are joined; an int is of CUDA.
        dim: the dimension that was split. Numbers make a vector.

    Raises:
        ValueError: dicts have different keys.

    Example:
        >>> parts = [flambeau.arange(2), flambeau.arange(2, 4)]
        >>> flambeau.nn.parallel.gather(parts, "cpu")
        tensor([0, 1, 2, 3])
    """
    first = outputs[0]
    if isinstance(first, Tensor):
        parts = [part.to(_device(target_device)) for part in outputs]
        return flambeau.stack(parts) if first.dim() == 0 else flambeau.cat(parts, dim)
    if first is None:
        return None
    if isinstance(first, dict):
        if any(output.keys() != first.keys() for output in outputs):
            raise ValueError("gather: expected dicts of the same keys from every device")
        return type(first)(
            (key, gather([output[key] for output in outputs], target_device, dim)) for key in first
        )
    rows = zip(*outputs, strict=True)
    return _alike(first, [gather(list(parts), target_device, dim) for parts in rows])


def _alike(sequence: Any, items: Any) -> Any:
    """Items in a sequence of the same kind."""
    kind = type(sequence)
    return kind(*items) if hasattr(sequence, "_fields") else kind(items)


def replicate(network: Module, devices: Sequence[Device], detach: bool = False) -> list[Module]:
    """Copies of a module, whose parameters and buffers are copies on other devices. Gradients flow
    through them to the module's own.

    Args:
        network: what is copied.
        devices: where; ints are of CUDA.
        detach: gradients do not flow.

    Example:
        >>> layer = flambeau.nn.Linear(1, 1)
        >>> copies = flambeau.nn.parallel.replicate(layer, ["cpu", "cpu"])
        >>> sum(copy(flambeau.ones(3, 1)).sum() for copy in copies).backward()
        >>> layer.weight.grad  # of both
        tensor([[6.]])
    """
    return [_replica(network, _device(device), detach, {}) for device in devices]


def _replica(module: Module, device: flambeau.device, detach: bool, done: dict[int, Any]) -> Module:
    """A copy of a module; of modules and tensors that come twice there is one copy."""
    if id(module) in done:
        copy: Module = done[id(module)]
        return copy
    copy = done[id(module)] = type(module).__new__(type(module))
    copy.__dict__.update(module.__dict__)
    for table in ("_parameters", "_buffers"):
        tensors = dict(getattr(module, table))
        for name, tensor in tensors.items():
            if tensor is not None:
                moved = done.get(id(tensor))
                if moved is None:
                    # A view: what a replica does to it must not make it the module's own tensor.
                    moved = (tensor.detach() if detach else tensor).to(device).view_as(tensor)
                    done[id(tensor)] = moved
                tensors[name] = moved
        copy.__dict__[table] = tensors
    copy.__dict__["_modules"] = {
        name: None if child is None else _replica(child, device, detach, done)
        for name, child in module._modules.items()
    }
    return copy


def parallel_apply(
    modules: Sequence[Any],
    inputs: Sequence[Any],
    kwargs_tup: Sequence[dict[str, Any]] | None = None,
    devices: Sequence[Device | None] | None = None,
) -> list[Any]:
    """Calls modules with inputs of their own, each in a thread.

    Args:
        modules: what is called.
        inputs: the argument of each, or a tuple of them.
        kwargs_tup: keyword arguments of each.
        devices: where each one runs, as a check of the numbers; tensors say it.

    Returns:
        The results.

    Raises:
        ValueError: the numbers differ.
        Exception: the first one that a module raised.

    Example:
        >>> modules = [flambeau.nn.ReLU(), flambeau.nn.Hardtanh()]
        >>> halves = [flambeau.tensor([-1.0, 2.0]), flambeau.tensor([3.0, -4.0])]
        >>> flambeau.nn.parallel.parallel_apply(modules, halves)
        [tensor([0., 2.]), tensor([ 1., -1.])]
    """
    keywords = [{}] * len(modules) if kwargs_tup is None else kwargs_tup
    places = modules if devices is None else devices
    numbers = {len(given) for given in (modules, inputs, keywords, places)}
    if len(numbers) > 1:
        raise ValueError(
            f"parallel_apply: expected as many modules, inputs, keywords and devices, got {numbers}"
        )
    grad_enabled = flambeau.is_grad_enabled()

    def call(module: Any, given: Any, named: dict[str, Any]) -> Any:
        with flambeau.set_grad_enabled(grad_enabled):
            return module(*(given if isinstance(given, tuple | list) else (given,)), **named)

    if len(modules) == 1:
        return [call(modules[0], inputs[0], keywords[0])]
    with ThreadPoolExecutor(len(modules)) as pool:
        return list(pool.map(call, modules, inputs, keywords))


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Sequence[Device] | None = None,
    output_device: Device | None = None,
    dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:
    """The result of a module that is computed on several devices, a part of the batch on each.

    Args:
        module: on the first of the devices.
        inputs: the argument, or a tuple of them.
        device_ids: devices, ints are of CUDA; None: every one of CUDA. Where there is none, the
            module is called as it is.
        output_device: where the result is; None: on the first device.
        dim: the dimension of the batch.
        module_kwargs: keyword arguments.

    Example:
        >>> batch = flambeau.tensor([[-1.0], [2.0], [3.0]])
        >>> flambeau.nn.parallel.data_parallel(flambeau.nn.ReLU(), batch, ["cpu", "cpu"])
        tensor([[0.],
                [2.],
                [3.]])
    """
    given = inputs if isinstance(inputs, tuple) else () if inputs is None else (inputs,)
    parallel = DataParallel(module, device_ids, output_device, dim)
    return parallel(*given, **(module_kwargs or {}))


class DataParallel(Module):
    """Computes a module on several devices of this process, a part of the batch on each; on one, or
    none of CUDA, it calls the module.

    Args:
        module: on the first of the devices.
        device_ids: devices, ints are of CUDA; None: every one of CUDA.
        output_device: where results are; None: on the first device.
        dim: the dimension of the batch.

    Example:
        >>> model = flambeau.nn.DataParallel(flambeau.nn.Linear(4, 2), device_ids=["cpu"])
        >>> model(flambeau.ones(3, 4)).shape
        flambeau.Size([3, 2])
    """

    def __init__(
        self,
        module: Module,
        device_ids: Sequence[Device] | None = None,
        output_device: Device | None = None,
        dim: int = 0,
    ) -> None:
        super().__init__()
        self.module = module
        self.dim = dim
        self.device_ids = (
            list(range(flambeau.cuda.device_count())) if device_ids is None else list(device_ids)
        )
        first = self.device_ids[0] if self.device_ids else None
        self.output_device = first if output_device is None else output_device

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        if not self.device_ids:
            return self.module(*inputs, **kwargs)
        self._check_place()
        parts = scatter([inputs, kwargs], self.device_ids, self.dim)
        modules = [self.module]
        if len(parts) > 1:
            modules = replicate(self.module, self.device_ids[: len(parts)])
        results = parallel_apply(modules, [part[0] for part in parts], [part[1] for part in parts])
        if len(results) == 1:
            return results[0]
        return gather(results, self.output_device or self.device_ids[0], self.dim)

    def _check_place(self) -> None:
        expected = _device(self.device_ids[0])
        for name, tensor in (*self.module.named_parameters(), *self.module.named_buffers()):
            if tensor.device != expected:
                raise RuntimeError(
                    f"DataParallel: expected '{name}' on {expected}, the first device, got "
                    f"{tensor.device}"
                )
