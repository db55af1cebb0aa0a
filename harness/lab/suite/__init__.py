"""Suites: items that are put to the test on real brokers, each with control arms (claims, known bugs).

`model` is an item as data and its verdict (pure), `item_files` and `written_expectations` say how files
write it, `run_evidence` reads a finished run, the `expect_*` modules compare it with what was expected,
`runner` runs items, `page` and `narrative` describe the results.
"""
