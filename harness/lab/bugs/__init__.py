"""Known Kafka bugs, each reproduced on an affected version or setting and shown absent on a fixed one.

`catalog` has one file per bug (`kip-903.yaml`), and `bug` has them all in order.
"""
