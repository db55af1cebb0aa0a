"""What faults on packets share: who drops whom, the rules that do it, and the proof from both sides."""
