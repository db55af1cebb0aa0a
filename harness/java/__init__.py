"""Producers of the Java client: VerifiableProducer in containers, and scripted producers over py4j."""
