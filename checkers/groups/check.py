"""The check of consumer groups, as the registry lists it."""

from __future__ import annotations

from checkers.base import SubjectCheck
from checkers.groups.classes import CLASSES
from checkers.groups.find import find

CHECK = SubjectCheck(find, CLASSES)
