"""What is generated for one small operator of each kind, compared with files that people read.

`pytest tests/codegen/test_emit_golden.py --update-golden` writes the files anew; git shows what
changed. Their suffix keeps formatters away.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from flambeau.codegen.model.entries import Declarations
from flambeau.codegen.model.operators import OperatorIndex
from flambeau.codegen.plan.binding import plan_bindings
from flambeau.codegen.read.loader import declaration_files, load_declarations
from flambeau.codegen.text.folders import default_folder
from flambeau.codegen.write.bindings import emit_families
from flambeau.codegen.write.everything import emit_everything
from flambeau.codegen.write.files import Texts
from flambeau.codegen.write.native import emit_family, emit_registers

HERE = Path(__file__).parent
SAMPLES = sorted((HERE / "samples" / "golden").glob("*.yaml"))
GOLDEN = HERE / "golden"
FOLDERS = ("ops", "kernels", "formulas", "cpu", "cuda", "python", "docs")


@pytest.fixture(scope="module")
def declarations() -> Declarations:
    """The library's operators and the samples: formulas of samples call the library's."""
    return load_declarations(default_folder(), SAMPLES)


@pytest.fixture(scope="module")
def generated(declarations: Declarations, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("generated")
    emit_everything(declarations, folder)
    return folder


def shared_units(declarations: Declarations, family: str) -> dict[str, str]:
    """The parts of a family in units that it shares with others."""
    members = [o for o in declarations.operators if o.family == family]
    parts, units = Texts(), Texts()
    index = OperatorIndex(declarations.operators)
    emit_registers([emit_family(family, members, declarations, index, parts)], units)
    bindings = [b for b in plan_bindings(declarations) if b.family == family]
    emit_families(bindings, declarations, units)
    return {f"{name}.golden": text for name, text in units.files.items()}


def family_files(folder: Path, family: str, names: list[str]) -> dict[str, str]:
    """What belongs to a family: its own files, its pages, its lines of the stubs."""
    found = {}
    for path in sorted(folder.rglob("*")):
        place = path.relative_to(folder)
        own = path.stem.startswith(family) or path.name.startswith(family)
        if place.parts[0] not in FOLDERS:
            continue
        if path.is_file() and (own or (path.suffix == ".md" and path.stem in names)):
            found[f"{place}.golden"] = path.read_text(encoding="utf-8")
    lines = []
    for path in sorted((folder / "stubs").rglob("*.pyi")):
        text = path.read_text(encoding="utf-8").splitlines()
        mine = [line for line in text if any(name in line for name in names)]
        if mine:
            lines += [f"# {path.relative_to(folder)}", *mine]
    if lines:
        found["stubs.pyi.golden"] = "\n".join(lines) + "\n"
    return found


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
def test_golden(
    sample: Path, generated: Path, declarations: Declarations, request: pytest.FixtureRequest
) -> None:
    names = [o.name for o in declarations.operators if o.family == sample.stem]
    names += [alias for o in declarations.operators if o.name in names for alias in o.aliases]
    found = family_files(generated, sample.stem, names)
    found |= shared_units(declarations, sample.stem)
    folder = GOLDEN / sample.stem.removeprefix("sample_")
    golden = {str(p.relative_to(folder)): p for p in sorted(folder.rglob("*")) if p.is_file()}
    if request.config.getoption("--update-golden"):
        for path in golden.values():
            path.unlink()
        for name, text in found.items():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        return
    assert sorted(found) == sorted(golden), "other files are generated; see --update-golden"
    for name, text in found.items():
        expected = golden[name].read_text(encoding="utf-8")
        assert text == expected, f"{name} changed; see --update-golden"


def test_samples_are_declarations_of_the_library_in_small() -> None:
    """Every kind of operator has a sample."""
    loaded = load_declarations(default_folder(), SAMPLES)
    kinds = {o.kind for o in loaded.operators if o.family.startswith("sample_")}
    assert kinds == {o.kind for o in loaded.operators}
    assert set(SAMPLES) <= set(declaration_files(default_folder(), SAMPLES))
