"""Sphinx's configuration of the site; `flambeau docs build` runs it."""

from flambeau import __version__

project = "Flambeau"
release = __version__
html_title = "Flambeau"
language = "en"
show_authors = False
html_show_copyright = False

extensions = [
    "myst_parser",
    "sphinx_copybutton",
    "flambeau.docs.directives",
    "flambeau.docs.mathml",
    "flambeau.docs.navigation",
    "flambeau.docs.references",
    "flambeau.docs.search",
]
myst_enable_extensions = ["attrs_block", "attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
toc_object_entries = False
python_maximum_signature_line_length = 76
python_display_short_literal_types = True
smartquotes = False
exclude_patterns = ["_static", "_templates"]

html_theme = "furo"
html_static_path = ["_static"]
templates_path = ["_templates"]
html_css_files = ["flambeau.css", "explorer.css"]
html_js_files = [("search.js", {"defer": "defer"})]
html_favicon = "_static/flame.svg"
html_math_renderer = "mathml"
html_copy_source = False
html_use_index = False
html_domain_indices = False
pygments_style = "friendly"
pygments_dark_style = "github-dark"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}
_SANS = (
    'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", Arial, '
    "sans-serif"
)
_MONO = (
    'ui-monospace, SFMono-Regular, "JetBrains Mono", Menlo, Consolas, "Liberation Mono", monospace'
)
html_theme_options = {
    "sidebar_hide_name": False,
    "light_css_variables": {
        "font-stack": _SANS,
        "font-stack--monospace": _MONO,
        "color-brand-primary": "#b8400a",
        "color-brand-content": "#a63a0a",
        "color-brand-visited": "#8a3b66",
        "color-api-name": "#a63a0a",
        "color-api-pre-name": "#7d746c",
        "color-background-primary": "#fffdfb",
        "color-background-secondary": "#faf6f2",
        "color-background-hover": "#f3ece4",
        "color-background-border": "#ece4da",
        "color-sidebar-link-text--top-level": "var(--color-foreground-primary)",
        "color-sidebar-link-text": "var(--color-foreground-secondary)",
        "plot-function": "#c2440b",
        "plot-slope": "#2f6fb0",
    },
    "dark_css_variables": {
        "color-brand-primary": "#ff9a55",
        "color-brand-content": "#ffa76b",
        "color-brand-visited": "#d99ac0",
        "color-api-name": "#ffa76b",
        "color-api-pre-name": "#9b948c",
        "color-background-primary": "#161412",
        "color-background-secondary": "#1d1a17",
        "color-background-hover": "#29241f",
        "color-background-border": "#332d27",
        "color-sidebar-link-text--top-level": "var(--color-foreground-primary)",
        "color-sidebar-link-text": "var(--color-foreground-secondary)",
        "plot-function": "#ff9a55",
        "plot-slope": "#7db4ea",
    },
}
