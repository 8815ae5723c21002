"""The typed model of a declaration: immutable, validated, the only thing that emitters read.

Everything here is a frozen dataclass. The loader builds it from YAML (`loader.py`), the checks read
it (`check/`), the plans derive from it (`plan/`), the emitters print it (`emit/`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flambeau.codegen.formula.nodes import Expression
    from flambeau.codegen.text.source import Span
    from flambeau.codegen.text.tree import Mapping


class Kind(Enum):
    """How an operator is computed, and so what can be derived for it."""

    POINTWISE = "pointwise"
    REDUCTION = "reduction"
    VIEW = "view"
    COMPOSITE = "composite"
    STRUCTURED = "structured"


# Keys that an entry of the kind must have ('shape' unless it follows from the signature; 'kernel'
# unless a body serves every backend), and those that mean nothing for it.
NEEDED_KEYS: dict[Kind, tuple[str, ...]] = {
    Kind.POINTWISE: ("expr",),
    Kind.REDUCTION: ("reduce",),
    Kind.VIEW: ("shape",),
    Kind.COMPOSITE: ("body",),
    Kind.STRUCTURED: ("kernel", "shape"),
}
REFUSED_KEYS: dict[Kind, tuple[str, ...]] = {
    Kind.POINTWISE: ("reduce", "body", "shape"),
    Kind.REDUCTION: ("expr", "body", "random"),
    Kind.VIEW: ("expr", "reduce", "body", "kernel", "random"),
    Kind.COMPOSITE: ("expr", "reduce", "shape", "kernel", "random"),
    Kind.STRUCTURED: ("expr", "reduce"),
}


class Base(Enum):
    """The types that a signature can name."""

    TENSOR = "Tensor"
    SCALAR = "Scalar"
    INT = "int"
    FLOAT = "float"
    BOOL = "bool"
    STR = "str"
    DTYPE = "dtype"
    DEVICE = "device"
    GENERATOR = "Generator"
    MEMORY_FORMAT = "memory_format"  # its name, a str, in formulas and C++


class Role(Enum):
    """What an int is, so that values which it cannot have are refused before anything reads it."""

    DIM = "dim"  # of a tensor, counted from the end where negative
    INDEX = "index"  # a place along a dim, counted from the end where negative
    SIZE = "size"  # how many: not negative
    ANY = "any"  # every value means something


@dataclass(frozen=True, slots=True)
class Meaning:
    """The role of an int: `dim`, `dim(size)`, `dim(self + 1)`, `index(dim)`, `size`, `int(any)`.

    `of`: a dim's argument, whose rank (or length) counts, None for the first tensor; an index's
    dim. `beyond`: dims that the result has more.
    """

    role: Role
    of: str | None = None
    beyond: int = 0

    def __str__(self) -> str:
        if self.role is Role.ANY:
            return "int(any)"
        extra = f" + {self.beyond}" if self.beyond else ""
        return f"{self.role.value}({self.of}{extra})" if self.of else str(self.role.value)


@dataclass(frozen=True, slots=True)
class Type:
    """The type of an argument, as in `Tensor|Scalar`, `int[2]?`, `Tensor(mut)`, `dim[]`."""

    base: Base
    or_scalar: bool = False  # Tensor|Scalar
    is_list: bool = False
    list_length: int | None = None  # int[2] also accepts one int, which is repeated
    optional: bool = False
    mutable: bool = False
    meaning: Meaning | None = None  # of an int
    none_items: bool = False  # int?[2]: integers of the list may be None
    only: bool | None = None  # bool(True): the overload is meant where the argument is True

    def __post_init__(self) -> None:
        assert not (self.or_scalar and self.base is not Base.TENSOR)
        assert not (self.mutable and self.base is not Base.TENSOR)
        assert self.list_length is None or self.is_list
        assert self.meaning is None or self.base is Base.INT

    @property
    def is_tensor(self) -> bool:
        """A single tensor (or Tensor|Scalar), not a list."""
        return self.base is Base.TENSOR and not self.is_list

    @property
    def is_tensor_list(self) -> bool:
        return self.base is Base.TENSOR and self.is_list

    def __str__(self) -> str:
        text = (
            (str(self.meaning) if self.meaning else self.base.value)
            + ("|Scalar" if self.or_scalar else "")
            + ("(mut)" if self.mutable else "")
            + (f"({self.only})" if self.only is not None else "")
        )
        if self.is_list:
            text += "?" if self.none_items else ""
            text += f"[{'' if self.list_length is None else self.list_length}]"
        return text + ("?" if self.optional else "")


@dataclass(frozen=True, slots=True)
class Argument:
    """One parameter of an operator."""

    name: str
    type: Type
    default: str | None  # source text of a Python literal; None: required
    keyword_only: bool
    doc: str
    span: Span
    spread: bool = False  # the items of the list may be arguments each: f(a, b) for f([a, b])


@dataclass(frozen=True, slots=True)
class Result:
    """One result. `dtype` is set by the signature (`int64 indices`), else by the dtype rule."""

    name: str
    is_list: bool = False
    dtype: str | None = None
    view_of: str | None = None
    hidden: bool = False
    spare: bool = False  # hidden, and not computed where no derivative reads it


@dataclass(frozen=True, slots=True)
class Signature:
    """`name.overload(arguments) -> results`."""

    name: str
    overload: str
    arguments: tuple[Argument, ...]
    results: tuple[Result, ...]
    span: Span
    choices: tuple[tuple[int, Argument], ...] = ()  # bool(True): before which argument, what

    @property
    def given(self) -> tuple[Argument, ...]:
        """What callers in Python give: the arguments, and what chooses between overloads."""
        found = list(self.arguments)
        for place, choice in reversed(self.choices):
            found.insert(place, choice)
        return tuple(found)

    @property
    def full_name(self) -> str:
        return f"{self.name}.{self.overload}" if self.overload else self.name

    @property
    def visible_results(self) -> tuple[Result, ...]:
        """The results that callers get."""
        return tuple(r for r in self.results if not r.hidden)

    @property
    def spares_results(self) -> bool:
        """Whether a call may leave out results."""
        return any(r.spare for r in self.results)


@dataclass(frozen=True, slots=True)
class DtypeRule:
    """Which dtypes go in, what is computed in, what comes out."""

    accepts: dict[str, frozenset[str]]  # argument -> dtype names it accepts
    same_as: dict[str, str]  # argument -> argument whose dtype it must share
    promote: tuple[str, ...]  # arguments that take part in promotion
    integers_to_float: bool  # `int: promote`
    results: dict[str, str]  # result -> dtype, common, real, complex or an expression over dtypes
    accumulate: str | None  # reductions and products: low-precision floats accumulate in this
    kernels: frozenset[str] = frozenset()  # dtypes that kernels are compiled for (the common dtype)
    discrete: frozenset[str] = frozenset()  # the declared dtypes that carry no gradient


@dataclass(frozen=True, slots=True)
class Derivative:
    """Gradient formulas, one per differentiable argument."""

    formulas: dict[str, Expression]  # lets already substituted
    auto: frozenset[str] = frozenset()  # arguments whose formula was derived symbolically
    none: bool = False  # declared not differentiable
    excluded: frozenset[str] = frozenset()  # arguments that were declared `none`


@dataclass(frozen=True, slots=True)
class Reduce:
    """A fold: acc = step(acc, x); partial results meet in combine; finish makes the result."""

    init: Expression
    step: Expression
    combine: Expression
    finish: Expression


@dataclass(frozen=True, slots=True)
class Constraint:
    """A declared requirement on the arguments, or what is most likely meant by them."""

    name: str
    require: Expression
    exception: str  # RuntimeError, ValueError, TypeError, IndexError; UserWarning: the call goes on
    message: str  # with {expression} fields
    span: Span
    parts: tuple[str | Expression, ...] = ()  # the message: text and fields in turn
    once: bool = False  # a warning that a program gets but once

    @property
    def only_warns(self) -> bool:
        """Whether the call goes on where it does not hold."""
        return self.exception.endswith("Warning")


@dataclass(frozen=True, slots=True)
class ShapeRule:
    """Result shapes (and, for views, strides and offset), over the arguments.

    `dynamic`: the shape depends on data, and the kernel allocates. `geometry`: the name of a
    hand-written function in native/core/tensor/views.h that computes a view's sizes, strides and
    offset.
    """

    lets: tuple[tuple[tuple[str, ...], Expression], ...]  # (names, value): `b, n, k = self.shape`
    shapes: dict[str, Expression]  # result -> shape
    strides: Expression | None = None
    offset: Expression | None = None
    dynamic: bool = False
    geometry: str | None = None
    by_columns: tuple[str, ...] = ()  # results whose last two dims are matrices laid out by columns
    format_of: tuple[str, ...] = ()  # arguments: results are channels-last where one of them is
    format_rank: int = 4  # and has so many dims at least


# What generated code needs of the operators, whatever they are called: see `role` of an entry.
CLONE, COPY, ZEROS = ROLES = ("clone", "copy", "zeros")


def role_name(role: str) -> str:
    """What formulas call the operator of a role: no name that anything could have."""
    return f"<{role}>"


# In place of a backend: a kernel out of copies, fills and views, which serves them all.
ANY_BACKEND = "any"
# In place of its file: the kernel of the CPU, on copies in the host's memory.
ON_HOST = "cpu"


@dataclass(frozen=True, slots=True)
class KernelFile:
    """A hand-written kernel and where it lives, below native/BACKEND."""

    backend: str
    file: str


@dataclass(frozen=True, slots=True)
class Doc:
    summary: str
    math: str | None
    notes: str | None
    arguments: dict[str, str]
    returns: dict[str, str]
    example: str | None
    see_also: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Test:
    """What the generated tests compare with and feed in. Values are text in the sample language."""

    reference: str | None
    samples: tuple[dict[str, str], ...]
    extremes: dict[str, tuple[float, ...]]
    rejects: dict[str, dict[str, str]]  # constraint -> arguments that violate it
    properties: tuple[str, ...]
    tolerance: float | None
    gradient: bool  # false: results are compared, derivatives are not (kinks everywhere)
    arbitrary: bool  # true: elements may be anything, as those of memory that nobody wrote


@dataclass(frozen=True, slots=True)
class Place:
    """Where a function is found."""

    namespace: str  # "" (flambeau), "nn.functional", "linalg", "special"
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}.{self.name}" if self.namespace else self.name


class Policy(Enum):
    """In which dtype an operator takes floating-point arguments while autocast is on."""

    NONE = "none"
    LOWER = "lower"
    FLOAT32 = "float32"
    WIDEST = "widest"


@dataclass(frozen=True, slots=True)
class Autocast:
    """`autocast` of an entry: on the CPU, and on any other device."""

    cpu: Policy = Policy.NONE
    others: Policy = Policy.NONE


class Layout(Enum):
    """How the elements of a tensor lie, where not by strides: see `layouts` of an entry."""

    SPARSE_COO = "sparse_coo"
    ANY = "any"  # of an argument: whoever takes it asks


class BatchRule(Enum):
    """How an operator is computed for all slices of a batch at once: see `batch` of an entry."""

    LEADING = "leading"  # the batch is a dim before those of all tensors
    JOINED = "joined"  # the batch is one with the first dim of all tensors
    BROADCAST = "broadcast"  # the same, and the dims behind it broadcast
    BODY = "body"  # the body, computed for all slices
    FORMULA = "formula"
    LOOP = "loop"  # slice by slice


DEFAULT_OVERLOAD = "default"


@dataclass(frozen=True, slots=True)
class OverloadName:
    """What PyTorch calls an overload, in calls in which an argument is what `when` says."""

    name: str
    argument: str = ""
    when: str = ""  # "tensor"; "given" or true; "": in all others; "inplace"; "also": in none
    with_out: str = ""  # what it is called where the result is written into `out`; "": by habit


@dataclass(frozen=True, slots=True)
class NodeName:
    """What a node of autograd is called: as the first of the `cases` says that holds, otherwise
    `name`, which of a composite may be "": the name of its last node stays. A case is a condition,
    or an argument that is given, or that is a tensor and no number.
    """

    name: str
    cases: tuple[tuple[str | Expression, str], ...] = ()

    @property
    def conditions(self) -> tuple[Expression, ...]:
        """Those cases that are formulas."""
        return tuple(case for case, _ in self.cases if not isinstance(case, str))


@dataclass(frozen=True, slots=True)
class Batching:
    """`batch` of an entry. `cases`: formulas over tensors whose first dim is the batch of `n`
    slices, or other rules; each for the case that these arguments have one and others do not, ()
    for all other cases, in which every tensor has one.
    """

    rule: BatchRule
    cases: tuple[tuple[tuple[str, ...], Expression | BatchRule], ...] = ()

    @property
    def formulas(self) -> tuple[Expression, ...]:
        """Those among the cases."""
        return tuple(case for _, case in self.cases if not isinstance(case, BatchRule))


@dataclass(frozen=True, slots=True)
class Operator:
    """One entry of declarations/*.yaml."""

    signature: Signature
    kind: Kind
    family: str  # the file's stem: "arithmetic"
    variants: frozenset[str]  # function, method, inplace, out, list
    operator: str | None  # Python operator token: "+", "@", "-x", ...
    namespace: str  # "" (flambeau), "nn.functional", "linalg", "special"
    dtypes: DtypeRule
    expressions: dict[str, Expression]  # pointwise: result (or mutable argument) -> formula
    reduce: Reduce | None
    shape: ShapeRule | None
    body: Expression | None  # composite
    body_lets: tuple[tuple[str, Expression], ...]
    kernels: dict[str, KernelFile]
    random: str | None  # "philox"
    skip_when: tuple[tuple[Expression, Expression], ...]  # (condition, what to return instead)
    linear_in: tuple[str, ...]
    additive: tuple[str, ...]
    overwrites: str  # the argument that the kernel may write its result over
    derivative: Derivative | None
    forward: dict[str, Expression]  # declared forward-mode formulas, result -> tangent
    constraints: tuple[Constraint, ...]
    doc: Doc
    test: Test
    internal: bool  # used by formulas only; no public name
    span: Span
    aliases: tuple[str, ...] = ()
    also_in: tuple[Place, ...] = ()  # where the function is found beside its namespace
    inplace: Argument | None = None  # `inplace=` of a function that has it
    role: str | None = None  # what generated code uses it for: see ROLES
    autocast: Autocast | None = None
    batching: Batching | None = None  # None: it follows from the kind
    layouts: dict[str, Layout] = field(default_factory=dict)  # argument or result -> layout
    flops: Expression | None = None  # how many additions and multiplications it takes
    overload: tuple[OverloadName, ...] = ()  # (): it follows from the signature
    grad_fn: NodeName | None = None  # None: it follows from the name
    plain_results: bool = False  # several are a tuple; else one whose fields have their names
    called_as: str = ""  # of an internal one that Python code calls: the name that users know
    entry: Mapping | None = field(default=None, repr=False, compare=False)  # where it stands
    package: str = ""  # the package outside the library that declares it

    @property
    def name(self) -> str:
        return self.signature.name

    @property
    def full_name(self) -> str:
        return self.signature.full_name

    @property
    def is_for_layouts(self) -> bool:
        """Whether it is what users call by an operator's name with tensors of other layouts: then
        formulas, in which all are strided, do not mean it by that name.
        """
        return bool(self.layouts) and not self.internal

    @property
    def called(self) -> tuple[str, ...]:
        """What formulas may call it; those that are derived, by its role."""
        role = (role_name(self.role),) if self.role else ()
        return tuple(dict.fromkeys((self.name, *self.aliases, *role)))

    @property
    def batch_rule(self) -> BatchRule:
        """How it is computed for a batch."""
        if self.batching is not None:
            return self.batching.rule
        if self.kind is Kind.POINTWISE:
            return BatchRule.BROADCAST
        if self.kind in (Kind.REDUCTION, Kind.VIEW):
            # Without a dim that could be counted from behind the batch, the batch would be folded,
            # or turned, too. Tests say of the library's views that theirs stays where it is.
            counts = any(a.type.meaning is not None for a in self.signature.arguments)
            is_known = self.kind is Kind.VIEW and not self.package
            return BatchRule.LEADING if counts or is_known else BatchRule.LOOP
        return BatchRule.LOOP if self.body is None else BatchRule.BODY

    @property
    def on_host(self) -> bool:
        """Whether backends without a kernel compute in the host's memory."""
        kernel = self.kernels.get(ANY_BACKEND)
        return kernel is not None and kernel.file == ON_HOST

    @property
    def identifier(self) -> str:
        """C++ name of this overload: `max_dim` for `max.dim`."""
        return self.full_name.replace(".", "_")

    def argument(self, name: str) -> Argument:
        return next(a for a in self.signature.arguments if a.name == name)

    @property
    def tensor_arguments(self) -> tuple[Argument, ...]:
        return tuple(a for a in self.signature.arguments if a.type.base is Base.TENSOR)


@dataclass(frozen=True, slots=True)
class Dtype:
    """One entry of dtypes.yaml."""

    name: str
    aliases: tuple[str, ...]
    cpp: str
    size: int
    category: str  # bool, unsigned, signed, limited, float, complex
    accumulate: str
    real: str
    numpy: str | None
    tensor_type: str  # of Tensor.type(): "Float" of FloatTensor
    significant_bits: int  # of floats; the other bits but one are the exponent's
    doc: str
    entry: Mapping | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Backend:
    """One entry of backends.yaml."""

    name: str
    emit: str  # cpp, cuda, none
    doc: str
    entry: Mapping | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Declarations:
    """Everything that was declared."""

    operators: tuple[Operator, ...]
    dtypes: tuple[Dtype, ...]
    backends: tuple[Backend, ...]
    by_name: dict[str, tuple[Operator, ...]] = field(default_factory=dict)  # name -> its overloads
    package: str = ""  # the package that is built; "": the library itself
    families: dict[str, str] = field(default_factory=dict)  # family -> what its head says it is

    @property
    def own(self) -> tuple[Operator, ...]:
        """The operators that are checked and emitted; formulas may refer to the others too."""
        return tuple(o for o in self.operators if o.package == self.package)
