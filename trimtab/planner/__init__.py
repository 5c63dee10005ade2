"""From an optimized program to a planned one; docs/planner.md has the rules."""
