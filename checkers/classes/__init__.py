"""What a class of findings is, and from facts to findings. The classes themselves are in `classes.py` of each
subject's folder; `checkers.registry` lists them all."""
