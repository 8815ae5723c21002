"""Flambeau on OpenCL: importing this package makes the device "opencl" known.

FLAMBEAU_OPENCL_DEVICE=PLATFORM:DEVICE names another device than the first GPU, or the first of any
kind.
"""

import flambeau as _flambeau  # noqa: F401  loads the libraries that _C needs
import flambeau_opencl._C as _C  # noqa: F401  registers the backend
