"""`python -m kafka_chaos` is the command `kafka-chaos`."""

from harness.cli.app import main

if __name__ == "__main__":
    main()
