#pragma once

/// The files of kernels/, generated into texts.cpp.
namespace flambeau::opencl::texts {
extern const char *const prelude,
    *const math, *const random, *const copy, *const reduce, *const gemm, *const index, *const fill;
}  // namespace flambeau::opencl::texts
