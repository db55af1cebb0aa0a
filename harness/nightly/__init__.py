"""The nightly series: experiments and matrices on several Kafka versions, compared with the last."""
