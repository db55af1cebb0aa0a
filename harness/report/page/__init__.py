"""Pages as data, and their renderers for terminals, HTML and Markdown."""
