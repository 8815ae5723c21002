"""The JSON Schema of declarations: current, accepts what is declared, rejects planted mistakes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from support import SAMPLE

from flambeau.codegen.text.folders import default_folder, function_files, yaml_files
from flambeau.codegen.tools.cli import main
from flambeau.codegen.tools.json_schema import json_schema, schema_text

FOLDER = default_folder()
FILES = [*yaml_files(FOLDER), *function_files(FOLDER)]
SAMPLES = sorted((Path(__file__).parent / "samples").rglob("*.yaml"))


@pytest.fixture(scope="module")
def validator() -> Any:
    schema = json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def parsed(text: str) -> Any:
    """As an editor reads YAML."""
    return yaml.safe_load(text)


def test_the_file_is_current() -> None:
    """`flambeau ops schema declarations/schema.json` writes it anew."""
    assert (FOLDER / "schema.json").read_text(encoding="utf-8") == schema_text()


def test_the_command_writes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", str(tmp_path / "new" / "schema.json")]) == 0
    assert (tmp_path / "new" / "schema.json").read_text(encoding="utf-8") == schema_text()
    capsys.readouterr()
    assert main(["schema"]) == 0
    assert capsys.readouterr().out == schema_text()


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.name)
def test_every_file_points_to_it(file: Path) -> None:
    """The path of a modeline is relative to the file that it stands in."""
    first = file.read_text(encoding="utf-8").splitlines()[0]
    lead = "# yaml-language-server: $schema="
    assert first.startswith(lead)
    assert (file.parent / first.removeprefix(lead)).is_file()


@pytest.mark.parametrize("file", [*FILES, *SAMPLES], ids=lambda path: path.name)
def test_declarations_are_accepted(file: Path, validator: Any) -> None:
    found = list(validator.iter_errors(parsed(file.read_text(encoding="utf-8"))))
    assert not found, [f"{e.json_path}: {e.message}" for e in found]


SILU = """
- op: "silu(Tensor self) -> Tensor result"
  kind: pointwise
  variants: [function, inplace]
  namespace: nn.functional
  dtypes: {self: float}
  expr: "self * sigmoid(self)"
  derivative: auto
  errors:
    - error: has_dims
      require: "self.dim > 0"
      message: "no dims"
  summary: "Sigmoid linear unit."
  args: {self: "x"}
  see: [relu]
  reference: "np.tanh(self)"
  samples:
    - randn(3)
  extremes: {self: [0, 1e4]}
"""


def test_the_entry_that_mistakes_are_planted_in_is_sound(validator: Any) -> None:
    validator.validate(parsed(SILU))
    validator.validate(parsed(SAMPLE))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("kind: pointwise", "kind: pointwize"),
        ("kind: pointwise", "knid: pointwise"),
        ("kind: pointwise", "kind: composite"),
        ('expr: "self * sigmoid(self)"', 'body: "self * sigmoid(self)"'),
        ('  expr: "self * sigmoid(self)"\n', ""),
        ("[function, inplace]", "[function, in_place]"),
        ("[function, inplace]", "function"),
        ("[function, inplace]", "[function, function]"),
        ("nn.functional", "nn.functionals"),
        ("{self: float}", "float"),
        ("derivative: auto", "derivative: automatic"),
        ("derivative: auto", "derivative: [grad]"),
        ("derivative: auto", "operator: plus"),
        ("derivative: auto", "called_as: silu"),
        ("- op:", "- helper:"),
        ("derivative: auto", "random: mersenne"),
        ("derivative: auto", "unknown: key"),
        ("- error: has_dims\n      require", "- require"),
        ('message: "no dims"', "raise: KeyError"),
        ('message: "no dims"', "why: x"),
        ('summary: "Sigmoid linear unit."', "sumary: x"),
        ("see: [relu]", "see: relu"),
        ("see: [relu]", "sea: [relu]"),
        ("- randn(3)", '- {self: "randn(3)"}'),
        ("extremes: {self: [0, 1e4]}", "extremes: {self: 0}"),
        ("extremes: {self: [0, 1e4]}", "tolerance: [1e-3]"),
        ('"silu(Tensor self) -> Tensor result"', '"silu"'),
        ('- op: "silu', '- operation: "silu'),
        ('- op: "silu(Tensor self) -> Tensor result"\n', "- text\n"),
    ],
)
def test_mistakes_are_rejected(old: str, new: str, validator: Any) -> None:
    assert old in SILU
    text = SILU.replace(old, new)
    try:
        document = parsed(text)
    except yaml.YAMLError:
        return  # an editor shows it before any schema is asked
    assert list(validator.iter_errors(document))


@pytest.mark.parametrize(
    "entry",
    [
        "{dtype: float8, cpp: f8, size: one, category: float, tensor_type: F, doc: x}",
        "{dtype: float8, cpp: f8, size: 1, category: floating, tensor_type: F, doc: x}",
        "{dtype: float8, cpp: f8, size: 1, category: float, tensor_type: F}",
        "{backend: tpu, emit: python, doc: x}",
        "{argument: x}",
        "{family: x}",
        "{family: x, doc: x, defaults: {expr: x}}",
        "{samples: two(x)}",
        "{error: some, require: x, message: x}",
        "{function: 'f(x)', doc: x, derivativ: {x: 1}}",
        "{}",
    ],
)
def test_mistakes_in_other_entries_are_rejected(entry: str, validator: Any) -> None:
    assert list(validator.iter_errors(parsed(f"- {entry}\n")))


def test_every_key_is_explained() -> None:
    """Hover text stands at each key of an operator and of what is inside."""
    operator = json_schema()["$defs"]["operator"]
    for key, schema in operator["properties"].items():
        assert schema.get("description"), key
        for inner, nested in schema.get("properties", {}).items():
            assert nested.get("description"), f"{key}: {inner}"
