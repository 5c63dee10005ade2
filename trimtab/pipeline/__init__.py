"""The pipeline: a build is a chain of frozen stages, each computed once from the one before.

    Recipe -> load -> Loaded -> plan -> Planned -> build -> Built -> measure -> Measured

Each stage has a module of its name. Commands are prefixes of the chain: `inspect`, `convert` and
`profile` end with a plan, `build` with a build, `bench` with a measurement; comparisons and sweeps
measure several builds together.
"""
