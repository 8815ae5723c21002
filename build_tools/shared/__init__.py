"""What the build of the library and builds of operator packages share.

Installed as `flambeau._build`. The modules import each other relatively, nothing else but Python.
"""
