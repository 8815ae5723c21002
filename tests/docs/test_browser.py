"""The site in a browser: search, explorer, formulas, themes, a phone."""

from __future__ import annotations

import functools
import http.server
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flambeau.codegen.plan.coverage import Row, coverage_of
from flambeau.codegen.read.loader import library_declarations
from flambeau.codegen.tools.cli import main as coverage_command

playwright = pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed (pip install 'flambeau[test]')"
)
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")

PATIENCE = 120_000  # milliseconds; machines that test have other things to do

SHOWN = ("index.html", "operators/silu.html", "operators/max.html", "operators/conv2d.html")
SHOWN += ("operators/index.html", "operators/explorer.html", "families/activation.html")
SHOWN += ("library/flambeau.nn.Linear.html", "library/flambeau.Tensor.html", "guide/autograd.html")
SHOWN += ("declarations/activation.html", "library/flambeau.html")


@functools.cache
def rows() -> list[Row]:
    """What the explorer shows."""
    return [r for r in coverage_of(library_declarations()).rows if r.forms and not r.internal]


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *arguments: Any) -> None:
        pass


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    handler = functools.partial(_Quiet, directory=str(site))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        # Containers have no user namespaces for the sandbox; every page is the site's own.
        chromium = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """A page whose console must stay silent."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(PATIENCE)
    found = context.new_page()
    said: list[str] = []
    found.on("console", lambda message: said.append(message.text))
    found.on("pageerror", lambda error: said.append(str(error)))
    found.on("requestfailed", lambda request: said.extend(_failures(request)))
    yield found
    heard = list(said)  # what closing interrupts is no failure
    context.close()
    assert not heard


def _failures(request: Any) -> list[str]:
    """What a page leaves behind when it goes elsewhere has not failed."""
    reason = str(request.failure)
    return [] if "ERR_ABORTED" in reason else [f"{request.url}: {reason}"]


def search(page: Any, words: str) -> Any:
    page.keyboard.press("/")
    page.keyboard.type(words)
    return page.locator(".search-results a")


def test_search_finds_an_operator(page: Any, address: str) -> None:
    page.goto(f"{address}/index.html")
    search(page, "softmax")
    page.locator(".search-results li:first-child a[href$='operators/softmax.html']").wait_for()
    page.keyboard.press("Enter")
    page.wait_for_url("**/operators/softmax.html")
    assert page.locator("h1").inner_text().startswith("softmax")


@pytest.mark.parametrize(
    ("words", "target"),
    [
        ("crossentropy", "operators/cross_entropy.html"),
        ("linear", "operators/linear.html"),
        ("adamw", "library/flambeau.optim.AdamW.html"),
        ("absolute", "operators/abs.html"),
        ("sftmax", "operators/softmax.html"),  # a letter is missing
        ("no_grad", "library/flambeau.no_grad.html"),
        ("torch.nn.Linear", "library/flambeau.nn.Linear.html"),
        ("torch.nn.Conv2d(3, 8, 3)", "library/flambeau.nn.Conv2d.html"),
        ("torch.mm", "operators/mm.html"),
        ("F.conv2d", "operators/conv2d.html"),
        ("gradient clipping", "flambeau.nn.utils.html#flambeau.nn.utils.clip_grad_norm_"),
        ("interpolate", "operators/interpolate.html"),
        ("xavier_uniform_", "flambeau.nn.init.html#flambeau.nn.init.xavier_uniform_"),
        ("backward", "library/flambeau.Tensor.html#flambeau.Tensor.backward"),
    ],
)
def test_search_finds(page: Any, address: str, words: str, target: str) -> None:
    page.goto(f"{address}/library/index.html")
    results = search(page, words)
    results.first.wait_for()
    links = [link.get_attribute("href") for link in results.all()[:4]]
    assert any(link.endswith(target) for link in links), links


def test_search_is_quick(page: Any, address: str) -> None:
    """Every letter is answered within a frame or two once the index is there."""
    page.goto(f"{address}/index.html")
    search(page, "s").first.wait_for()
    milliseconds = page.evaluate(
        """async () => {
          const input = document.querySelector("dialog.search input");
          const started = performance.now();
          for (const words of ["so", "sof", "soft", "softm", "backward pass of a loss"]) {
            input.value = words;
            input.dispatchEvent(new Event("input"));
            await Promise.resolve();
          }
          return (performance.now() - started) / 5;
        }"""
    )
    assert milliseconds < 50


def test_search_says_when_nothing_is_found(page: Any, address: str) -> None:
    page.goto(f"{address}/index.html")
    search(page, "qqqzzz")
    page.get_by_text("Nothing is called").wait_for()
    page.keyboard.press("Escape")
    assert page.locator("dialog.search[open]").count() == 0


def names(page: Any) -> list[str]:
    return page.locator(".explorer-name a").all_inner_texts()  # type: ignore[no-any-return]


def test_explorer_shows_all(page: Any, address: str) -> None:
    page.goto(f"{address}/operators/explorer.html")
    assert names(page) == [row.name for row in rows()]
    count = len(rows())
    assert page.locator(".explorer-count").inner_text() == f"{count} of {count} operators"


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("family=activation", lambda r: r.family == "activation"),
        ("kind=reduction", lambda r: r.kind == "reduction"),
        ("backend=not cuda", lambda r: r.backends["cuda"].how == "missing"),
        ("dtype=complex64", lambda r: r.dtypes_follow_body or "complex64" in r.dtypes),
        ("reverse=automatic", lambda r: r.reverse == "automatic"),
        ("forward=linear", lambda r: r.forward == "linear"),
        (
            "family=loss,activation&kind=composite",
            lambda r: r.family in ("loss", "activation") and r.kind == "composite",
        ),
    ],
)
def test_explorer_filters(page: Any, address: str, query: str, wanted: Any) -> None:
    """An address with choices shows what they leave, and clicking them leads to that address."""
    expected = [row.name for row in rows() if wanted(row)]
    assert expected
    page.goto(f"{address}/operators/explorer.html?{query}")
    assert names(page) == expected
    page.goto(f"{address}/operators/explorer.html")
    for part in query.split("&"):
        facet, _, values = part.partition("=")
        for value in values.split(","):
            page.locator(f'[data-facet="{facet}"][data-value="{value}"]').click()
    assert names(page) == expected
    assert page.url.endswith(query.replace(" ", "+"))


def test_explorer_counts_are_live(page: Any, address: str) -> None:
    page.goto(f"{address}/operators/explorer.html?family=unary")
    unary = [row for row in rows() if row.family == "unary"]
    cuda = sum(row.backends["cuda"].how != "missing" for row in unary)
    bar = page.locator(".explorer-bars > div", has_text="cuda")
    assert bar.inner_text().split("\n")[-1] == f"{cuda} / {len(unary)}"
    chip = page.locator('[data-facet="kind"][data-value="pointwise"] small')
    assert chip.inner_text() == str(sum(row.kind == "pointwise" for row in unary))


def test_explorer_keys(page: Any, address: str) -> None:
    page.goto(f"{address}/operators/explorer.html")
    page.keyboard.press("f")
    page.keyboard.type("layer_norm")
    found = [row.name for row in rows() if "layer_norm" in row.name]
    assert names(page) == found
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/operators/{found[0]}.html")


def test_formulas_are_typeset(page: Any, address: str) -> None:
    """A fraction has its numerator above its denominator, in the font that the site brings."""
    page.goto(f"{address}/operators/sigmoid.html")
    upper = page.locator("math mfrac > :nth-child(1)").first.bounding_box()
    lower = page.locator("math mfrac > :nth-child(2)").first.bounding_box()
    assert upper["y"] + upper["height"] <= lower["y"] + 1
    assert abs((upper["x"] + upper["width"] / 2) - (lower["x"] + lower["width"] / 2)) < 2
    page.evaluate("document.fonts.ready")
    assert page.evaluate("document.fonts.check('20px \"STIX Two Math\"')")
    assert page.locator("merror").count() == 0


def test_themes_differ(browser: Any, address: str) -> None:
    colours = {}
    for scheme in ("light", "dark"):
        context = browser.new_context(color_scheme=scheme)
        opened = context.new_page()
        opened.goto(f"{address}/operators/silu.html")
        colours[scheme] = opened.evaluate(
            """["body", "figure.plot .plot-function[d]"].map((selector) => {
              const style = getComputedStyle(document.querySelector(selector));
              return [style.backgroundColor, style.stroke];
            })"""
        )
        context.close()
    assert colours["light"][0][0] != colours["dark"][0][0]
    assert colours["light"][1][1] != colours["dark"][1][1]


@pytest.mark.parametrize("width", [360, 800, 1280])
@pytest.mark.parametrize("path", SHOWN)
def test_width(browser: Any, address: str, path: str, width: int) -> None:
    """No page is wider than a small phone, a tablet, a screen; each has a way to search."""
    context = browser.new_context(viewport={"width": width, "height": 740})
    context.set_default_timeout(PATIENCE)
    opened = context.new_page()
    said: list[str] = []
    opened.on("console", lambda message: said.append(message.text))
    opened.on("pageerror", lambda error: said.append(str(error)))
    opened.goto(f"{address}/{path}")
    assert opened.evaluate("document.documentElement.scrollWidth") <= width
    opened.get_by_role("button", name="Search").locator("visible=true").first.click()
    opened.keyboard.type("relu")
    opened.locator(".search-results a").first.wait_for()
    assert opened.evaluate("document.documentElement.scrollWidth") <= width
    context.close()
    assert not said


def test_the_page_of_coverage_fits_a_screen(browser: Any, tmp_path: Path) -> None:
    """Its table of all operators shows every column."""
    file = tmp_path / "coverage.html"
    assert coverage_command(["coverage", "--html", str(file)]) == 0
    opened = browser.new_page(viewport={"width": 1280, "height": 740})
    opened.goto(file.as_uri())
    hidden = "(e) => e.scrollWidth - e.clientWidth"
    assert opened.locator(".scroll").evaluate(hidden) == 0
    assert opened.evaluate("document.documentElement.scrollWidth") <= 1280
    opened.close()
