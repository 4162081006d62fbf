"""Work on a Dask cluster (extra `dask`): the way in and out of it, the order of its answers, and files that are cut.

What the tasks are is left to those who have them: training counts pieces, the command line counts and encodes inputs.
"""

LOCAL = "local"  # in place of an address: processes on this machine
