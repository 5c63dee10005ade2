"""The main job as functions, one each for what the command line and Python share.

Here the parts meet that may not know each other: build, devices, bench, instruments, reports. The
command line adds nothing but words.
"""
