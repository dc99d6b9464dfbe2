"""Settings of the docs: plain Markdown, one theme, nothing from the network."""

project = "Ameles"
author = "the Ameles authors"
project_copyright = "2026, the Ameles authors"

extensions = ["myst_parser"]
exclude_patterns = ["_build"]
nitpicky = True

html_theme = "furo"
html_title = "Ameles"
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
