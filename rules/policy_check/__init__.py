"""Checks a parsed policy file whole, before anything starts: all mistakes at once, each with its field and line."""

from rules.policy_check.document import KEYS, check
from rules.policy_check.rule_list import check_rules

__all__ = ["KEYS", "check", "check_rules"]
