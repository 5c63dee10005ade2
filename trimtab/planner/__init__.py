"""The planner: turns an optimized program into a planned one (docs/planner.md)."""
