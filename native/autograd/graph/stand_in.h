#pragma once

#include "core/profiling/recorder.h"
#include "core/tensor/tensor.h"

namespace flambeau::autograd {

/// Whether a tensor may stand for a batch of tensors, whose operators are taken over
/// (operators/taken.h), or be of a class that takes its operators over: it has no elements of its
/// own.
inline bool may_stand_in(const Tensor& tensor) {
  return tensor.device().backend == Backend::meta &&
         (profiling::recorded_now() & profiling::kTaken) != 0 &&
         tensor.impl()->python_object != nullptr;  // which says what it stands for
}

/// Set by the binding: a copy of a tensor stands for what the tensor does.
extern FLAMBEAU_API void (*copy_stand_in)(const Tensor& from, const Tensor& to);

}  // namespace flambeau::autograd
