/// Backward. Gradients start at the roots and are collected at nodes (frontier.h); the node with
/// the highest sequence number runs next, on the calling thread. Nothing about a run is stored in
/// nodes, so that runs on several threads, and runs started by a hook inside another run, do not
/// meet except at leaves, where adding to .grad takes the leaf's lock. Saved tensors are freed node
/// by node unless keep_graph. Threads that run through the same inner nodes at once must keep the
/// graph.

#include <exception>
#include <thread>

#include "autograd/engine/backward.h"
#include "autograd/engine/root.h"
#include "autograd/engine/selection.h"
#include "autograd/graph/anomaly.h"
#include "autograd/graph/forward_mode.h"
#include "autograd/graph/hooks.h"
#include "autograd/graph/operations.h"
#include "autograd/graph/stand_in.h"
#include "autograd/graph/state.h"
#include "core/backends/dispatch.h"
#include "core/profiling/recorder.h"
#include "core/tensor/formula_rules.h"
#include "core/tensor/sparse.h"
#include "core/threads/interrupt.h"

namespace flambeau::autograd {

Tensor (*ones_of_stand_in)(const Tensor& root) = nullptr;

namespace {

class Run;
thread_local Run* current_run = nullptr;

bool same(IntList a, IntList b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i]) return false;
  }
  return true;
}

bool takes_any_dtype(const Node& node) {
  return node.is_accumulator && static_cast<const AccumulateGrad&>(node).takes_any_dtype();
}

/// Makes what `producer` returned as gradient `i` fit the consumer's output: un-broadcasts,
/// converts.
[[gnu::cold, gnu::noinline]] void adapt(Tensor& gradient, const Node::OutputInfo& expected,
                                        const Node& consumer, const char* producer, size_t i) {
  const bool sparse = is_sparse(gradient);
  const bool wants_sparse = expected.device.backend == Backend::sparse_coo;
  check(sparse || !wants_sparse, ErrorKind::runtime, producer, ": gradient ", i,
        " is strided, expected one of layout sparse_coo, as the tensor is");
  const bool fits =
      wants_sparse || may_stand_in(gradient) || data_device(gradient) == expected.device;
  check(fits, ErrorKind::runtime, producer, ": gradient ", i, " is on ", data_device(gradient),
        ", expected ", expected.device);
  // Leaves take gradients of any layout; what is differentiated further is strided.
  if (sparse && !wants_sparse && !consumer.is_accumulator)
    gradient = operations().to_dense(gradient);
  check(!is_sparse(gradient) || same(gradient.sizes(), expected.sizes), ErrorKind::runtime,
        producer, ": gradient ", i, " has shape ", gradient.sizes(), ", expected ", expected.sizes);
  if (!same(gradient.sizes(), expected.sizes)) {
    check(shape_rules::expandable(expected.sizes, gradient.sizes()), ErrorKind::runtime, producer,
          ": gradient ", i, " has shape ", gradient.sizes(), ", expected ", expected.sizes,
          " or a shape that it broadcasts to");
    gradient = operations().sum_to(gradient, expected.sizes);
  }
  if (gradient.dtype() != expected.dtype && !takes_any_dtype(consumer)) {
    check(is_differentiable(gradient.dtype()), ErrorKind::runtime, producer, ": gradient ", i,
          " has dtype ", name(gradient.dtype()), ", expected ", name(expected.dtype));
    gradient = operations().cast(gradient, expected.dtype);
  }
}

FLAMBEAU_INLINE void fit(Tensor& gradient, const Edge& edge, const char* (*producer)(const void*),
                         const void* context, size_t i) {
  if (edge.index >= edge.node->outputs.size()) return;
  const Node::OutputInfo& expected = edge.node->outputs[edge.index];
  if (FLAMBEAU_LIKELY(gradient.dtype() == expected.dtype &&
                      same(gradient.sizes(), expected.sizes) &&
                      gradient.device() == expected.device)) {
    return;
  }
  if (expected.is_set) adapt(gradient, expected, *edge.node, producer(context), i);
}

/// sum += gradient, in place when one of the two is a buffer of its own.
void add_gradient(Tensor& sum, Tensor&& gradient) {
  if (!sum.defined()) {
    sum = std::move(gradient);
  } else if (is_tracking()) {
    sum = operations().add(sum, gradient);
  } else if (owns_buffer(sum)) {
    operations().add_in_place(sum, gradient);
  } else if (owns_buffer(gradient)) {
    operations().add_in_place(gradient, sum);
    sum = std::move(gradient);
  } else {
    sum = operations().add(sum, gradient);
  }
}

class Run {
 public:
  explicit Run(const BackwardOptions& options) : options_(options) {}
  Run(const Run&) = delete;

  void add_root(const Tensor& root, Tensor gradient, size_t index);
  void select(std::span<const Edge> inputs) {
    selection_ = std::make_unique<Selection>(
        std::span<const Ref<Node>>(roots_.begin(), roots_.end()), inputs, options_.accumulate);
  }
  void execute();
  Tensor take(size_t input) { return selection_->take(input); }
  void queue(std::function<void()> callback) { callbacks_.push_back(std::move(callback)); }

 private:
  void visit(Node& node, Gradients& gradients);
  Gradients apply(Node& node, Gradients& gradients);
  Gradients apply_recorded(Node& node, Gradients& gradients);
  Gradients apply_watched(Node& node, Gradients& gradients);
  void deliver(Node& node, Gradients& results, uint64_t mask);

  BackwardOptions options_;
  Frontier frontier_;
  SmallVector<Ref<Node>, 2> roots_;  // keep the graph alive whatever hooks do to the tensors
  std::unique_ptr<Selection> selection_;
  std::vector<std::function<void()>> callbacks_;
};

void Run::add_root(const Tensor& root, Tensor gradient, size_t index) {
  check(root.defined(), ErrorKind::type, "backward: root ", index, " is not a tensor");
  Edge edge = gradient_edge(root);
  check(static_cast<bool>(edge), ErrorKind::runtime, "backward: root ", index,
        " does not require grad and was not computed from a tensor that does; was it computed "
        "inside no_grad(), or from detached tensors?");
  if (!gradient.defined()) {
    check(root.numel() == 1, ErrorKind::runtime,
          "backward: a gradient can be left out for a scalar root only; root ", index,
          " has shape ", root.sizes(), ", pass a gradient of that shape");
    check(!is_complex(root.dtype()), ErrorKind::runtime,
          "backward: a gradient can be left out for a real root only; root ", index, " has dtype ",
          name(root.dtype()));
    if (may_stand_in(root)) {
      const GradMode unrecorded(false);
      gradient = ones_of_stand_in(root);
    } else {
      gradient = empty(root.sizes(), root.dtype(), root.device());
      fill_data(gradient, 1);
    }
  } else {
    check(same(gradient.sizes(), root.sizes()), ErrorKind::runtime,
          "backward: the gradient of root ", index, " has shape ", gradient.sizes(),
          ", expected the root's shape ", root.sizes());
    check(is_complex(gradient.dtype()) == is_complex(root.dtype()), ErrorKind::runtime,
          "backward: the gradient of root ", index, " has dtype ", name(gradient.dtype()),
          ", the root ", name(root.dtype()), "; both must be real or both complex");
    fit(
        gradient, edge, [](const void*) { return "backward"; }, nullptr, index);
  }
  const GradMode mode(options_.create_graph);
  add_gradient(frontier_.at(*edge.node)[edge.index], std::move(gradient));
  roots_.push_back(std::move(edge.node));
}

void Run::execute() {
  struct Scope {
    GradMode mode;
    Run* run = current_run;
    CurrentTask task = current_task;
    explicit Scope(bool create_graph, Run* own) : mode(create_graph) {
      current_run = own;
      current_task = {};
    }
    ~Scope() {
      current_run = run;
      current_task = task;
    }
  } const scope(options_.create_graph, this);
  for (uint32_t visited = 1; !frontier_.empty(); ++visited) {
    if (visited % 64 == 0) check_interrupt();  // a graph may have very many small nodes
    Frontier::Entry entry = frontier_.pop();
    visit(*entry.node, entry.gradients);
  }
  for (size_t i = 0; i < callbacks_.size(); ++i) {
    const auto callback = std::move(callbacks_[i]);
    callback();
  }
}

/// A node that a profile sees, with the shapes of its gradients.
[[gnu::noinline]] void start(profiling::Scope& scope, const Node& node,
                             const Gradients& gradients) {
  profiling::Shapes shapes;
  if (profiling::recorded_now() & profiling::kShapes) {
    for (const Tensor& gradient : gradients) profiling::add_shape(shapes, gradient);
  }
  scope.start(profiling::lasting(node.name()), profiling::Kind::backward, std::move(shapes));
}

void Run::visit(Node& node, Gradients& gradients) {
  profiling::Scope scope;
  const bool is_recorded = profiling::recorded_now() & profiling::kCalls;
  if (FLAMBEAU_UNLIKELY(is_recorded)) {
    scope.start(profiling::lasting(node.name()), profiling::Kind::engine);
  }
  if (FLAMBEAU_UNLIKELY(node.has_extras())) run_tensor_hooks(node, gradients);
  uint64_t mask = ~uint64_t{0};
  if (FLAMBEAU_UNLIKELY(selection_ != nullptr)) {
    const Selection::Info* info = selection_->find(node);
    if (!info) return;
    selection_->capture(*info, gradients);
    if (!info->applies) return;
    mask = info->mask;
    current_task = {&node, mask};
  }
  Gradients results = FLAMBEAU_UNLIKELY(is_recorded || node.has_extras() || anomaly_enabled())
                          ? apply_watched(node, gradients)
                          : apply(node, gradients);
  current_task = {};
  if (node.is_accumulator) return;
  // Not before: an in-place sum must find the buffers unshared.
  gradients.clear();
  deliver(node, results, mask);
}

FLAMBEAU_INLINE Gradients Run::apply(Node& node, Gradients& gradients) {
  Gradients results = node.apply(std::move(gradients));
  if (!options_.keep_graph && !node.is_accumulator) {
    node.release_saved();
    node.released = true;
  }
  return results;
}

void check_no_nan(const Node& node, const Gradients& gradients) {
  for (size_t i = 0; i < gradients.size(); ++i) {
    check(!gradients[i].defined() || !operations().has_nan(gradients[i]), ErrorKind::runtime,
          node.name(), " returned NaN in gradient ", i);
  }
}

/// Where a profile sees it: an event around the node alone.
Gradients Run::apply_recorded(Node& node, Gradients& gradients) {
  profiling::Scope scope;
  if (profiling::recorded_now() & profiling::kCalls) start(scope, node, gradients);
  return apply(node, gradients);
}

/// With hooks, while something is recorded, or in anomaly mode.
Gradients Run::apply_watched(Node& node, Gradients& gradients) {
  const bool has_post_hooks = node.has_extras() && !node.extras().post_hooks.empty();
  if (node.has_extras()) run_pre_hooks(node, gradients);
  const Gradients outputs = has_post_hooks ? gradients : Gradients();
  Gradients results;
  try {
    results = apply_recorded(node, gradients);
    if (anomaly_enabled() && anomaly_checks_nan()) check_no_nan(node, results);
  } catch (const Error& error) {
    if (!anomaly_enabled() || !node.has_extras()) throw;
    const std::string& trace = node.extras().forward_trace;
    if (trace.empty()) throw;
    throw Error(error.kind(), concatenate(error.what(), "\nThe forward call of ", node.name(),
                                          " was made here:\n", trace));
  } catch (...) {
    // The exception passes through as it is; the place is told beside it.
    if (anomaly_enabled() && node.has_extras() && show_warning) {
      const std::string& trace = node.extras().forward_trace;
      if (!trace.empty()) {
        show_warning(concatenate("an error was raised in the backward of ", node.name(),
                                 ", whose forward call was made here:\n", trace));
      }
    }
    throw;
  }
  if (has_post_hooks) run_post_hooks(node, results, outputs);
  if (node.is_accumulator && node.has_extras()) {
    run_accumulated_hooks(static_cast<AccumulateGrad&>(node));
  }
  return results;
}

void Run::deliver(Node& node, Gradients& results, uint64_t mask) {
  check(results.size() >= node.edges.size(), ErrorKind::runtime, node.name(), " returned ",
        results.size(), " gradients, expected one for each of its ", node.edges.size(), " inputs");
  for (size_t i = 0; i < node.edges.size(); ++i) {
    const Edge& edge = node.edges[i];
    if (!edge || !results[i].defined() || !(mask >> (i & 63) & 1)) continue;
    fit(
        results[i], edge,
        [](const void* producer) { return static_cast<const Node*>(producer)->name(); }, &node, i);
    add_gradient(frontier_.at(*edge.node)[edge.index], std::move(results[i]));
  }
}

Gradients run_backward(TensorList roots, TensorList root_gradients, TensorList inputs,
                       const BackwardOptions& options) {
  check(!roots.empty(), ErrorKind::runtime, "backward: no roots were given");
  check(root_gradients.size() <= roots.size(), ErrorKind::runtime,
        "backward: ", root_gradients.size(), " gradients were given for ", roots.size(), " roots");
  Run run(options);
  for (size_t i = 0; i < roots.size(); ++i) {
    run.add_root(roots[i], i < root_gradients.size() ? root_gradients[i] : Tensor(), i);
  }
  if (inputs.empty()) {
    run.execute();
    return {};
  }
  std::vector<Edge> edges;
  edges.reserve(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    check(requires_grad(inputs[i]), ErrorKind::runtime, "backward: input ", i,
          " does not require grad");
    if (options.accumulate) retain_grad(inputs[i]);
    edges.push_back(gradient_edge(inputs[i]));
  }
  run.select(edges);
  run.execute();
  if (options.accumulate) return {};
  Gradients gradients(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    gradients[i] = run.take(i);
    check(gradients[i].defined() || options.allow_unused, ErrorKind::runtime, "backward: input ", i,
          " was not used to compute the roots; pass allow_unused=True to get None for it");
  }
  return gradients;
}

/// Backward inside backward nests native frames; beyond this depth a fresh stack is taken.
constexpr int kMaxDepth = 48;
thread_local int depth = 0;

}  // namespace

Gradients backward(TensorList roots, TensorList root_gradients, TensorList inputs,
                   const BackwardOptions& options) {
  struct Depth {
    Depth() { ++depth; }
    ~Depth() { --depth; }
  } const deeper;
  if (FLAMBEAU_LIKELY(depth <= kMaxDepth)) {
    return run_backward(roots, root_gradients, inputs, options);
  }
  Gradients gradients;
  std::exception_ptr failure;
  std::thread worker([&, order = newest_sequence] {
    newest_sequence = order;
    try {
      gradients = run_backward(roots, root_gradients, inputs, options);
    } catch (...) {
      failure = std::current_exception();
    }
  });
  worker.join();
  if (failure) std::rethrow_exception(failure);
  return gradients;
}

void queue_callback(std::function<void()> callback) {
  check(current_run != nullptr, ErrorKind::runtime,
        "queue_callback: no backward is under way on this thread");
  current_run->queue(std::move(callback));
}

}  // namespace flambeau::autograd
