#pragma once

#include <functional>

#include "autograd/graph/node.h"

namespace flambeau::autograd {

struct BackwardOptions {
  bool keep_graph = false;
  bool create_graph = false;
  bool accumulate = true;  ///< into .grad (of `inputs`, or of every leaf when there are none);
                           ///< otherwise return the gradients of `inputs`
  bool allow_unused = false;
};
/// Gradients already computed flow in; see engine.cpp for order, freeing and re-entrance.
/// `root_gradients` may be shorter than `roots`: what is missing is 1, for scalar roots only.
FLAMBEAU_API Gradients backward(TensorList roots, TensorList root_gradients, TensorList inputs,
                                const BackwardOptions& options);
/// Runs `callback` when the backward that is under way on this thread has finished; Error(runtime)
/// outside of one.
FLAMBEAU_API void queue_callback(std::function<void()> callback);

}  // namespace flambeau::autograd
