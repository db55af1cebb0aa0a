"""What faults on packets share: cuts and links, the rules that make them, and the proof from both ends."""
