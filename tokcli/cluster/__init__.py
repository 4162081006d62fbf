"""Work on a Dask cluster (extra `dask`): the connection to it, its results in order, and the slices of files.

The tasks themselves are left to the callers: training counts pieces, the command line counts and encodes inputs.
"""

LOCAL = "local"  # instead of an address: processes on this machine
