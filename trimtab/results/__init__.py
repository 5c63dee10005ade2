"""Records of runs: the file format, the index over a folder of them, and the figures in them."""
