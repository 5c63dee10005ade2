"""Records of runs: their file format, the index over a folder of them, and the figures they hold."""
