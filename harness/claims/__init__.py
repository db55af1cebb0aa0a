"""The textbook as executable tests: claims about Kafka's guarantees, each with a control arm.

`frame` says what a claim is and what makes its verdict (pure), `evidence` what a finished run shows,
`expecting`, `counts` and `brokers` how that is held against what was expected, `running` runs claims on real
brokers, `showing` shows what came of them. One module a claim: `r01` to `r26`; `registry` has them in order.
"""
