"""The JSON Schema of files of declarations, for completion, hover text and checks in editors.

Keys and types come from the classes of the model and from the words that the readers accept; what
each key means is said here. YAML writes formulas, numbers and words alike without quotes, so a
schema is wider than the generator: `ops check` has the last word.
"""

from __future__ import annotations

import json
import re
import types
import typing
from collections.abc import Mapping
from dataclasses import fields
from enum import Enum
from typing import Any

from flambeau.codegen.formula.functions import BY_HAND, MOST, SAME_IN_FLOAT, function_keys
from flambeau.codegen.model.entries import (
    NEEDED_KEYS,
    REFUSED_KEYS,
    ROLES,
    Backend,
    Constraint,
    Doc,
    Dtype,
    Kind,
    Layout,
    Policy,
    Reduce,
    Test,
)
from flambeau.codegen.read.expand.definitions import SAMPLES_KEYS
from flambeau.codegen.read.expand.each import EACH, RULES
from flambeau.codegen.read.expand.families import DEFAULTS
from flambeau.codegen.read.operator_reader import (
    AUTOCAST_DEVICES,
    EXCEPTIONS,
    HELPER,
    HELPER_KEYS,
    KEYS,
    MAIN,
    NAMESPACES,
    OPERATORS,
    PUBLIC_KEYS,
    VARIANTS,
)

Schema = dict[str, Any]

# YAML reads `1`, `true` and `null` as values; the generator takes their text.
SCALAR: Schema = {"type": ["string", "number", "boolean", "null"]}
FORMULA: Schema = {"type": ["string", "number", "boolean"]}
WORDS: Schema = {"type": "array", "items": {"type": "string"}, "uniqueItems": True}
CALL: Schema = {"type": ["string", "number"]}
CALLS: Schema = {"anyOf": [CALL, {"type": "array", "items": CALL}]}
TEXTS: Schema = {"type": "object", "additionalProperties": {"type": "string"}}

# The names of keys where they differ from those of the model's fields; None: not a key.
_KEYS_OF: dict[type, dict[str, str | None]] = {
    Doc: {"arguments": "args", "see_also": "see"},
    Constraint: {"name": "error", "exception": "raise", "span": None, "parts": None},
    Dtype: {"name": "dtype", "entry": None},
    Backend: {"name": "backend", "entry": None},
    Test: {"rejects": None},  # an error says itself what it rejects
}
_REQUIRED: dict[type, tuple[str, ...]] = {
    Constraint: ("error",),  # alone it is the name of a shared one
    Reduce: ("init", "step", "combine"),
    Dtype: ("dtype", "cpp", "size", "category", "tensor_type", "doc"),
    Backend: ("backend", "emit", "doc"),
}
# Where the model's type says less than the reader asks for.
_NARROWER: dict[tuple[type, str], Schema] = {
    (Constraint, "raise"): {"enum": list(EXCEPTIONS)},
    (Backend, "emit"): {"enum": ["cpp", "cuda", "none"]},
    (Dtype, "category"): {"enum": ["bool", "unsigned", "signed", "limited", "float", "complex"]},
    (Test, "samples"): CALLS,
    (Doc, "example"): {
        "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]
    },
    (Test, "extremes"): {
        "type": "object",
        "additionalProperties": {"type": "array", "items": {"type": ["number", "string"]}},
    },
}


def json_schema() -> Schema:
    """The schema of a file: a list of entries, each told by its first key."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Declarations of Flambeau",
        "description": "Operators, dtypes, backends, arguments and functions of formulas.",
        "type": "array",
        "items": {
            "type": "object",
            "minProperties": 1,
            "allOf": [_when_has(key, {"$ref": f"#/$defs/{name}"}) for key, name in _ENTRIES],
            "anyOf": [{"required": [key]} for key, _ in _ENTRIES],
        },
        "$defs": {
            "operator": _operator(),
            "dtype": _of_class(Dtype, _DTYPE),
            "backend": _of_class(Backend, _BACKEND),
            "argument": _closed(
                {
                    "argument": _described(
                        {"type": "string"}, "the name that arguments share; name[]: of lists"
                    ),
                    "doc": _described({"type": "string"}, "what they mean"),
                },
                ("argument", "doc"),
            ),
            "function": _function(),
            "family": _family(),
            "samples": _closed(
                {
                    "samples": _described({"type": "string"}, "NAME, or NAME(a, b)"),
                    "calls": _described({**CALLS["anyOf"][1]}, "the samples; $a is a parameter"),
                },
                SAMPLES_KEYS,
            ),
            "error": {**_error(), "required": ["error", "require", "message", "rejects"]},
        },
    }


def schema_text() -> str:
    """The schema as it stands in its file."""
    return json.dumps(json_schema(), indent=1, ensure_ascii=False) + "\n"


_ENTRIES = (
    ("op", "operator"),
    (HELPER, "operator"),
    ("dtype", "dtype"),
    ("backend", "backend"),
    ("argument", "argument"),
    ("function", "function"),
    ("family", "family"),
    ("calls", "samples"),
    ("error", "error"),
)


def _when_has(key: str, then: Schema) -> Schema:
    """An entry is what the key says that no other sort of entry has."""
    return {"if": {"required": [key]}, "then": then}


def _described(schema: Schema, text: str) -> Schema:
    return {**schema, "description": text}


def _closed(properties: Mapping[str, Schema], required: tuple[str, ...] = ()) -> Schema:
    """A mapping of known keys."""
    found: Schema = {
        "type": "object",
        "properties": dict(properties),
        "additionalProperties": False,
    }
    return {**found, "required": list(required)} if required else found


def _of_class(model: type, texts: Mapping[str, str]) -> Schema:
    """A mapping whose keys are the fields of a class of the model."""
    hints = typing.get_type_hints(model, localns=_UNRESOLVED)
    renamed = _KEYS_OF.get(model, {})
    properties = {}
    for field in fields(model):
        key = renamed.get(field.name, field.name)
        if key is not None:
            schema = _NARROWER.get((model, key)) or _of_type(hints[field.name])
            properties[key] = _described(schema, texts[key])
    return _closed(properties, _REQUIRED.get(model, ()))


class _Formula:
    """Stands for the class of formulas, which are text in YAML."""


_UNRESOLVED = {"Expression": _Formula, "Span": _Formula, "Mapping": _Formula}


def _of_type(hint: Any) -> Schema:
    """What YAML may hold for a field of the model."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        inner = [a for a in arguments if a is not type(None)]
        found = _of_type(inner[0])
        return {**found, "type": [*_listed(found["type"]), "null"]}
    if origin is tuple:
        return {"type": "array", "items": _of_type(arguments[0])}
    if origin is dict:
        return {"type": "object", "additionalProperties": _of_type(arguments[1])}
    plain: dict[Any, Schema] = {
        str: {"type": "string"},
        int: {"type": "integer"},
        float: {"type": ["number", "string"]},
        bool: {"type": "boolean"},
        _Formula: FORMULA,
    }
    return plain[hint]


def _listed(found: str | list[str]) -> list[str]:
    return [found] if isinstance(found, str) else found


def _words(words: type[Enum] | tuple[str, ...]) -> Schema:
    names = [w.value for w in words] if isinstance(words, type) else list(words)
    return {"enum": names}


# Operators ----------------------------------------------------------------------------------------


def _operator() -> Schema:
    rule = _described(
        _words(tuple(RULES)), "stands first: one for every operator it holds of, `$name`"
    )
    keys = _entry_keys()
    helper = _described(
        keys["op"], "instead of `op`: the signature of what formulas and the library alone call"
    )
    one = {"oneOf": [{"required": ["op"]}, {"required": [HELPER]}]}
    public = _when_has("op", {"properties": dict.fromkeys(HELPER_KEYS, False)})
    private = _when_has(HELPER, {"properties": dict.fromkeys((EACH, *PUBLIC_KEYS), False)})
    whole = _closed({EACH: rule, HELPER: helper, **keys})
    return {**whole, "allOf": [one, public, private, *_kinds()]}


def _kinds() -> list[Schema]:
    """What an entry of a kind needs, and what it does not have."""
    return [
        {
            "if": {"properties": {"kind": {"const": kind.value}}, "required": ["kind"]},
            "then": {
                "required": [key for key in NEEDED_KEYS[kind] if key not in ("shape", "kernel")],
                "properties": dict.fromkeys(REFUSED_KEYS[kind], False),
            },
        }
        for kind in Kind
    ]


def _entry_keys() -> dict[str, Schema]:
    """The keys of an operator, with what they mean."""
    own = {key: _described(_KEYS[key][0], _KEYS[key][1]) for key in KEYS}
    about = {**_of_class(Doc, _DOC)["properties"], **_of_class(Test, _TEST)["properties"]}
    return {
        key: _nullable(value) if key in DEFAULTS else value for key, value in (own | about).items()
    }


def _nullable(schema: Schema) -> Schema:
    """Null declines what the family's head gives."""
    inner = {key: value for key, value in schema.items() if key != "description"}
    found: Schema = {"anyOf": [inner, {"type": "null"}]}
    return _described(found, schema["description"])


def _formulas(*more: tuple[str, Schema]) -> Schema:
    """Name -> formula, beside keys of another kind."""
    return {"type": "object", "properties": dict(more), "additionalProperties": FORMULA}


_LET: Schema = _described(
    {"type": "object", "additionalProperties": FORMULA}, "names for parts of the formulas"
)
_REDUCE = {
    "init": "the accumulator before the first element",
    "step": "the accumulator `acc` after one more element `x`",
    "combine": "the accumulator of two parts whose accumulators are `a` and `b`",
    "finish": "the result, from `acc` and the number of elements `n`; default: acc",
}
_CONSTRAINT = {
    "error": "what holds or what is wrong, in a word or two; or the use of a shared error",
    "require": "a condition on the arguments, over shapes, dtypes and numbers",
    "raise": "the exception; default: RuntimeError",
    "once": "true: a warning that a program gets but once",
    "message": "what it says; {formula} stands for a value",
}
_DOC = {
    "summary": "one sentence",
    "math": "LaTeX; a pointwise operator has its formula without it",
    "notes": "more sentences, and the source of a formula",
    "args": "argument -> what it is; arguments that common.yaml describes may be left out",
    "returns": "result -> what it is",
    "example": "`ARGUMENTS -> RESULT`, tensors as lists; a list of these; or a doctest",
    "see": "names of related operators",
}
_TEST = {
    "reference": "the results by NumPy (np), scipy.special (sp) or math, over the arguments",
    "samples": "arguments to call with, as `randn(3, 4), dim=1`; or names of sample sets",
    "extremes": "argument -> values at which the gradient must still be finite",
    "properties": "conditions on `result` and the arguments that must hold",
    "tolerance": "relative and absolute difference that is allowed",
    "gradient": "false: derivatives are not compared",
    "arbitrary": "true: elements of the result may be anything; only properties hold",
}
_DTYPE = {
    "dtype": "the name: flambeau.NAME",
    "aliases": "further names",
    "cpp": "the C++ type",
    "size": "bytes of an element",
    "category": "which words of `dtypes` mean it, and its place in promotion",
    "accumulate": "the dtype that sums and products of it are computed in",
    "real": "the dtype of the absolute value",
    "numpy": "the code of NumPy's array interface; null where NumPy has no such type",
    "tensor_type": "Float, where Tensor.type() gives FloatTensor",
    "significant_bits": "of real floats: those of the significand, the leading one among them",
    "doc": "one sentence",
}
_BACKEND = {
    "backend": "the name of the device",
    "emit": "the language of its kernels; none: it computes no elements",
    "doc": "one sentence",
}


def _error() -> Schema:
    found = _of_class(Constraint, _CONSTRAINT)
    rejects = _described(
        CALL,
        "the arguments of a call that raises it; those left out that have "
        "no default are those of the first sample",
    )
    return {**found, "properties": {**found["properties"], "rejects": rejects}}


ERRORS: Schema = {"anyOf": [{"type": "string"}, _error()]}

_PLACES = "|".join(re.escape(name) for name in (MAIN, *NAMESPACES))

_KEYS: dict[str, tuple[Schema, str]] = {
    "op": (
        {"type": "string", "pattern": r"^\s*\$?[A-Za-z_]\w*(\.\w+)?\s*\("},
        "the signature: name.overload(Type argument, *, Type argument=default) -> Type result",
    ),
    "kind": (_words(Kind), "how it is computed, from which follows what is derived"),
    "variants": (
        {**WORDS, "items": _words(VARIANTS)},
        "the forms it has; default: function, and method where it takes a tensor first",
    ),
    "operator": (_words(OPERATORS), "the operator of Python that calls it"),
    "namespace": (_words(NAMESPACES), "where the function is found; default: flambeau itself"),
    "also_in": (
        {**WORDS, "items": {"type": "string", "pattern": rf"^({_PLACES})(\.\w+)?$"}},
        "where the function is found beside its namespace: `main`, `special`, `special.expit`",
    ),
    "aliases": (WORDS, "further names"),
    "inplace": (
        {"const": "keyword"},
        "keyword: the function in `namespace` takes `inplace=False` after its other arguments",
    ),
    "role": (_words(ROLES), "what generated code uses it for"),
    "called_as": (
        {"type": "string"},
        "of a helper that Python code calls: what messages name, the public function",
    ),
    "dtypes": (
        {
            "type": "object",
            "properties": {
                "promote": _described(WORDS, "the arguments that are converted to a common dtype"),
                "int": _described({"const": "promote"}, "integers are computed as floating"),
                "accumulate": _described({"type": "string"}, "what low precision accumulates in"),
            },
            "additionalProperties": {"type": "string"},
        },
        "argument -> dtypes or categories joined by |, or same(argument); result -> its dtype",
    ),
    "expr": (
        {"anyOf": [FORMULA, _formulas()]},
        "pointwise: an element of the result; with several results, result -> formula",
    ),
    "reduce": (_of_class(Reduce, _REDUCE), "reduction: a fold over the elements of the dims"),
    "shape": (
        {
            "anyOf": [
                {"type": "string"},
                _formulas(
                    ("let", {"type": "string"}),
                    ("strides", FORMULA),
                    ("offset", FORMULA),
                    ("geometry", {"type": "string"}),
                    ("by_columns", {"type": "array", "items": {"type": "string"}}),
                    ("format_of", {"type": "array", "items": {"type": "string"}}),
                    ("format_rank", {"type": "integer"}),
                ),
            ]
        },
        "the shape of the result, or result -> shape; `dynamic` where it depends on data",
    ),
    "body": (
        {"anyOf": [FORMULA, _formulas(("let", _LET))]},
        "composite: a formula over other operators; structured: what stands in for a kernel where "
        "a backend has none",
    ),
    "kernel": (
        {
            "type": "object",
            "additionalProperties": {"type": "string"},
        },
        "structured: backend -> the file of its kernel, below native/BACKEND/; any: one of copies, "
        "fills and views, which serves them all, or `cpu`, the CPU's kernel on copies",
    ),
    "layouts": (
        {"type": "object", "additionalProperties": _words(Layout)},
        "argument or result -> its layout, where it is not strided; any: the argument may be of "
        "every layout. Tensors of other layouts are refused",
    ),
    "autocast": (
        {
            "anyOf": [
                _words(Policy),
                _closed({device: _words(Policy) for device in AUTOCAST_DEVICES}),
            ]
        },
        "in which dtype floating-point arguments are taken while autocast is on: lower, float32, "
        "widest; or the same for cpu and others apart",
    ),
    "batch": (
        {"anyOf": [{"type": "string"}, _formulas()]},
        "how vmap computes it for all slices: leading, joined, broadcast, body, loop, or a formula "
        "over tensors whose first dim is the batch of `n` slices; or one of these for each set of "
        "arguments that have a batch, and for `others`, where all are given one",
    ),
    "flops": (
        FORMULA,
        "how many additions and multiplications it takes, over arguments and results; of products, "
        "which programs count",
    ),
    "overload": (
        {
            "anyOf": [
                {"type": "string"},
                WORDS,
                {
                    "type": "object",
                    "additionalProperties": {"anyOf": [{"type": "string"}, WORDS]},
                },
            ]
        },
        "what PyTorch calls the overload, in `ops.aten`, where it is not `default`, `Tensor` and "
        "`Scalar`, or the name behind the dot; two names for an argument that is a tensor or a "
        "number, or argument -> the name where it is given, `inplace` -> that of this form, `also` "
        "-> a further one; there also [the name, that with `out`]",
    ),
    "grad_fn": (
        {
            "anyOf": [
                {"type": "string"},
                {"type": "object", "additionalProperties": {"type": "string"}},
            ]
        },
        "what PyTorch calls the node of autograd, where it is not the name in capitals, `Backward` "
        "and a number; or condition -> the name where it holds, argument -> that where it is "
        "given, or a tensor and no number, and `default` -> that of other calls; of a composite, "
        "what its last node is called, which without `default` keeps its name in other calls",
    ),
    "results": (
        {"const": "tuple"},
        "several results are a plain tuple, where PyTorch's are; else one of named fields",
    ),
    "random": ({"const": "philox"}, "the formula draws random numbers"),
    "skip_when": (
        _formulas(),
        "condition -> what is returned instead of computing",
    ),
    "copied_as": ({"type": "string"}, "of a view: the operator that copies what the view gives"),
    "linear_in": (WORDS, "tensors that the result is linear in: forward mode follows"),
    "additive": (WORDS, "tensors that are added to a part that is linear in others"),
    "overwrites": (
        {"type": "string"},
        "the first argument, where the kernel may be given its memory for the result: the form in "
        "place then copies nothing",
    ),
    "derivative": (
        {"anyOf": [{"enum": ["auto", "none"]}, _formulas(("let", _LET))]},
        "auto, none, or argument -> its gradient over `grad` (auto and none there too)",
    ),
    "forward": (
        _formulas(("let", _LET)),
        "result -> its tangent over ARGUMENT_t, where it cannot be derived",
    ),
    "errors": (
        {"anyOf": [ERRORS, {"type": "array", "items": ERRORS}]},
        "requirements on the arguments: names of shared errors, and errors of the entry's own",
    ),
}


def _family() -> Schema:
    """What the head of a file shares with its entries."""
    keys = {key: value for key, value in _entry_keys().items() if key in DEFAULTS}
    return _closed(
        {
            "family": _described({"type": "string"}, "the name of the file"),
            "doc": _described({"type": "string"}, "one line: what the operators are"),
            "defaults": _described(_closed(keys), "what entries have that do not say otherwise"),
            "args": _described(TEXTS, "argument -> what it is, where an entry does not say it"),
            "returns": _described(TEXTS, "result -> what it is, where an entry does not say it"),
        },
        ("family", "doc"),
    )


def _function() -> Schema:
    """A file of functions; the head of exponentials.yaml describes the keys."""
    text: Schema = {"type": "string"}
    properties: dict[str, Schema] = dict.fromkeys(function_keys(), text)
    for key in ("derivative", "gradient"):
        properties[key] = _formulas()
    lets: Schema = {"type": "object", "additionalProperties": text}
    body = _closed({"let": lets, "result": text}, ("result",))
    properties["definition"] = {"anyOf": [text, body]}
    properties["single"] = {"anyOf": [{"enum": [SAME_IN_FLOAT, BY_HAND]}, text, body]}
    properties["branches"] = {"const": "apart"}
    properties["vectors"] = {"const": "own"}
    properties["cost"] = {
        "type": "integer",
        "exclusiveMinimum": 0,
        "exclusiveMaximum": MOST + 1,
    }
    return _closed(properties, ("function", "doc"))
