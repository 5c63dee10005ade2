"""Sweeps: a matrix of configurations, built and measured cell by cell, and their history."""
