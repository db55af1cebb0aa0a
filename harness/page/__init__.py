"""Pages: what is told about a subject, as data, and how it looks on a terminal, as HTML and as Markdown."""
