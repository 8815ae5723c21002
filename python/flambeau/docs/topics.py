"""The order in which a long list of classes is read: by topic."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType

# A topic: the files of the package that its classes are written in.
_TOPICS: dict[str, dict[str, str]] = {
    "flambeau.nn": {
        "Modules and containers": "module containers parallel.data_parallel parallel.distributed",
        "Parameters": "parameter parameter_containers",
        "Linear layers and embeddings": "linear embedding embedding_bag",
        "Convolutions": "conv upsampling",
        "Pooling": "pooling unpooling",
        "Activations": "activation softmax",
        "Normalization": "batchnorm normalization response_norm",
        "Dropout": "dropout",
        "Recurrent layers": "rnn rnn_cells",
        "Attention and transformers": "multihead_attention transformer",
        "Shapes and padding": "shapes",
        "Losses": "loss margin_loss linear_loss functional.projected adaptive",
        "Distances": "distance",
        "Layers that learn their sizes": "lazy_layers",
    },
}


def by_topic(name: str, module: ModuleType, members: Sequence[str]) -> dict[str, list[str]]:
    """The classes of a module under headings; under "Classes" where it has no topics.

    Raises:
        LookupError: if the module has topics and a class none.
    """
    if name not in _TOPICS:
        return {"Classes": list(members)} if members else {}
    files = {f"{name}.{file}": t for t, text in _TOPICS[name].items() for file in text.split()}
    found: dict[str, list[str]] = {topic: [] for topic in _TOPICS[name]}
    for member in members:
        file = getattr(module, member).__module__
        if file not in files:
            raise LookupError(f"{name}.{member} is written in {file}, which has no topic")
        found[files[file]].append(member)
    return {topic: names for topic, names in found.items() if names}
