"""What is timed, in groups."""

from workloads import (
    basics,
    channels_last,
    convolutions,
    functions,
    operators,
    products,
    sequences,
    sorting,
    tiny_matrices,
    training,
    transforms,
)

GROUPS = {
    module.__name__.rpartition(".")[2]: module.WORKLOADS
    for module in (
        *(basics, products, convolutions, channels_last, sequences, sorting, transforms, training),
        functions,
        operators,
        tiny_matrices,
    )
}
