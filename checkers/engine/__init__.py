"""The engines that run the pipeline, all reached over Spark Connect: Apache Spark, a cluster of it, and Sail.

An engine is a server process. `server.start_server` starts one of ours, `connect.open_session` opens a
session on it or on somebody else's (`sc://host:port`); `server.ConnectEngine` is what a check sees of it.
"""
