"""What is timed, in groups."""

from workloads import (
    basics,
    convolutions,
    functions,
    operators,
    products,
    sequences,
    sorting,
    training,
    transforms,
)

GROUPS = {
    module.__name__.rpartition(".")[2]: module.WORKLOADS
    for module in (
        *(basics, products, convolutions, sequences, sorting, transforms, training),
        functions,
        operators,
    )
}
