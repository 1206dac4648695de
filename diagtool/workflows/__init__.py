"""Sequences of steps that commands call: they join readers, analyses and reports and compute nothing themselves."""
