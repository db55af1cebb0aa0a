"""Built-in applications under test, which are subjects and no part of the harness.

`built_ins/` describes each of them as data, and the other modules are their programs and what programs share.
Each runs by itself: `python -m workloads.applications.built_in --help`.
"""
