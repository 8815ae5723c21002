"""What the processor can do, as Linux tells it."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

__all__ = ["get_capabilities"]

_X86 = """
    sse sse2 sse3 ssse3 sse4_1 sse4_2 sse4a avx avx2 avx_vnni avx_vnni_int8 avx_vnni_int16
    avx_ne_convert avx10_1 avx10_2 fma3 fma4 f16c bmi bmi2 popcnt lzcnt aes sha clflush clflushopt
    clwb avx512_f avx512_cd avx512_dq avx512_bw avx512_vl avx512_ifma avx512_vbmi avx512_vbmi2
    avx512_vnni avx512_bitalg avx512_vpopcntdq avx512_bf16 avx512_fp16 avx512_vp2intersect
    avx512_4vnniw avx512_4fmaps amx_tile amx_int8 amx_bf16 amx_fp16
"""
# Where Linux has another word for it.
_LINUX = {"sse3": "pni", "fma3": "fma", "bmi": "bmi1", "lzcnt": "abm", "sha": "sha_ni"}
_CACHES = {"1 Data": "l1d_cache_size", "2 Unified": "l2_cache_size"}


def get_capabilities() -> dict[str, Any]:
    """What the processor is, and which instructions it has: their names, each with a bool; on
    others than x86-64 those that there are.

    Beside them "architecture", "cpu_name", "num_sockets", "num_physical_cores",
    "num_logical_cores", and where Linux tells them "l1d_cache_size" and "l2_cache_size" in bytes.

    Example:
        >>> found = flambeau.cpu.get_capabilities()
        >>> found["num_physical_cores"] <= found["num_logical_cores"]
        True
    """
    processors = _processors()
    first = processors[0] if processors else {}
    words = set(first.get("flags", first.get("Features", "")).split())
    if platform.machine() == "x86_64":
        found: dict[str, Any] = {
            name: not words.isdisjoint(_in_linux(name)) for name in _X86.split()
        }
    else:
        found = dict.fromkeys(sorted(words), True)
    sockets = {one.get("physical id") for one in processors}
    cores = {(one.get("physical id"), one.get("core id", one["processor"])) for one in processors}
    return found | {
        "architecture": platform.machine(),
        "cpu_name": first.get("model name", platform.machine()),
        "num_sockets": max(len(sockets), 1),
        "num_physical_cores": max(len(cores), 1),
        "num_logical_cores": len(processors) or os.cpu_count() or 1,
        **_caches(),
    }


def _in_linux(name: str) -> tuple[str, str]:
    return _LINUX.get(name, name), name.replace("avx512_", "avx512")


def _processors() -> list[dict[str, str]]:
    """The lines of each logical processor."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return []
    found = []
    for block in text.strip().split("\n\n"):
        pairs = (line.partition(":") for line in block.splitlines())
        found.append({name.strip(): value.strip() for name, _, value in pairs})
    return [one for one in found if "processor" in one]


def _caches() -> dict[str, int]:
    found = {}
    for folder in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        try:
            level, kind, size = ((folder / n).read_text() for n in ("level", "type", "size"))
        except OSError:
            continue
        name = _CACHES.get(f"{level.strip()} {kind.strip()}")
        if name is not None:
            found[name] = int(size.strip().removesuffix("K")) * 1024
    return found
