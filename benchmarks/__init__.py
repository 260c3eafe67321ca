"""Figures that depend on the machine, as ratios of two things measured in one run."""
