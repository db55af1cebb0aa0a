"""Results for people and for CI: tables, HTML, Markdown and JUnit XML."""
