"""The check of transactions, as the registry lists it."""

from __future__ import annotations

from checkers.base import SubjectCheck
from checkers.transactions.classes import CLASSES
from checkers.transactions.find import find

CHECK = SubjectCheck(find, CLASSES)
