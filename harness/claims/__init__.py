"""The textbook as executable tests: claims about Kafka's guarantees, each with a control arm.

`catalog` has one module per claim, `r01` to `r26` and `c01` and following, and `catalog.registry` has them
all in order. How a claim is run and judged is in `harness.suite`.
"""
