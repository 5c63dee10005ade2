"""Many configurations as one measurement: the matrix, its cells, and what runs them."""
