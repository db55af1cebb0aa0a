"""The textbook as executable tests: claims about Kafka's guarantees, each with a control arm.

`catalog` has one file per claim (`r12.yaml`), and `claim` has them all in order. How a claim is run and
judged is in `harness.lab.suite`.
"""
