/// The autograd engine on operators made by hand (toy_operators.h): what backward computes, what it
/// refuses, in-place writes and views, hooks, re-entrance, long chains, threads.

#include <cstring>
#include <functional>
#include <thread>

#include "autograd/graph/anomaly.h"
#include "autograd/graph/hooks.h"
#include "check.h"
#include "toy_operators.h"

namespace flambeau::testing {
namespace {

std::string error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}
bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

SETUP { flambeau::testing::install_toy_operations(); }

TEST(product_and_sum) {
  const Tensor w = full(Shape{5, 5}, 3, true);
  backward(sum(add(mul(w, w), w)));
  for (int i = 0; i < 25; ++i) CHECK_CLOSE(at(grad(w), i), 7, 0);
  backward(sum(add(mul(w, w), w)));
  CHECK_CLOSE(at(grad(w)), 14, 0);
}

TEST(version_check) {
  const Tensor x = full(Shape{2}, 3, true), y = full(Shape{2}, 4, true);
  const Tensor z = mul(x, y), q = mul(z, y), r = add(z, y);
  add_(z, y);
  const BackwardOptions keep{.keep_graph = true};
  backward(sum(z), keep);
  CHECK_CLOSE(at(grad(x)), 4, 0);
  CHECK_CLOSE(at(grad(y)), 4, 0);
  backward(sum(r), keep);
  CHECK_CLOSE(at(grad(y)), 4 + 4, 0);
  const std::string message = error_of([&] { backward(sum(q), keep); });
  CHECK(contains(message, "MulBackward"));
  CHECK(contains(message, "'self'"));
  CHECK(contains(message, "at version 1"));
  CHECK(contains(message, "expected version 0"));
}

TEST(only_leaves_accumulate) {
  const Tensor x = scalar(2, true);
  const Tensor y = mul(x, x), z = mul(y, y), k = mul(x, x);
  retain_grad(k);
  backward(add(z, k));
  CHECK_CLOSE(at(grad(x)), 4 * 8 + 4, 0);
  CHECK(!grad(y).defined());
  CHECK_CLOSE(at(grad(k)), 1, 0);
}

TEST(twice_needs_keep_graph) {
  const Tensor x = scalar(2, true), y = mul(x, x);
  backward(y);
  const std::string message = error_of([&] { backward(y); });
  CHECK(contains(message, "MulBackward"));
  CHECK(contains(message, "retain_graph=True"));
  // Nothing saved, nothing freed.
  const Tensor s = add(x, x);
  backward(s);
  backward(s);
}

TEST(roots_are_checked) {
  const Tensor x = full(Shape{3}, 2, true);
  CHECK(contains(error_of([&] { backward(mul(x, x)); }), "scalar root"));
  CHECK(contains(error_of([&] { backward(mul(x, x), {}, full(Shape{2}, 1)); }), "[2]"));
  CHECK(contains(error_of([&] { backward(scalar(1)); }), "does not require grad"));
  backward(mul(x, x), {}, values(Shape{3}, {1, 2, 3}));
  CHECK_CLOSE(at(grad(x), 2), 12, 0);
}

TEST(unbroadcasts) {
  const Tensor x = full(Shape{2, 3}, 2, true), b = full(Shape{3}, 5, true);
  backward(sum(mul(x, b)));
  CHECK(equal(grad(b).sizes(), Shape{3}));
  CHECK_CLOSE(at(grad(b)), 4, 0);
  CHECK(grad(b).is_contiguous());
}

TEST(higher_orders) {
  // d^n/dx^n of x^4 at 3: 108, 108, 72, 24.
  const Tensor x = scalar(3, true);
  Tensor y = mul(mul(x, x), mul(x, x));
  for (const double expected : {108., 108., 72., 24.}) {
    y = gradients(y, {x}, {.keep_graph = true, .create_graph = true})[0];
    CHECK_CLOSE(at(y), expected, 1e-12);
  }
  CHECK(!grad(x).defined());
}

TEST(saved_result_to_second_order) {
  const Tensor x = scalar(0.5, true), y = exp(x);
  const Tensor first = gradients(y, {x}, {.keep_graph = true, .create_graph = true})[0];
  const Tensor second = gradients(first, {x})[0];
  CHECK_CLOSE(at(second), std::exp(0.5), 1e-15);
}

TEST(create_graph_accumulates_a_history) {
  const Tensor x = scalar(3, true);
  backward(mul(mul(x, x), x), {.keep_graph = true, .create_graph = true});
  const Tensor first = grad(x);
  CHECK(requires_grad(first));
  CHECK_CLOSE(at(gradients(first, {x})[0]), 18, 1e-12);
  set_grad(x, Tensor());
}

TEST(inputs_visit_only_their_part) {
  const Tensor a = scalar(2, true), b = scalar(3, true);
  const Tensor p = mul(a, a), q = mul(b, b), z = mul(p, q);
  MulBackward::applied = 0;
  CHECK_CLOSE(at(gradients(z, {a})[0]), 4 * 9, 0);
  CHECK(MulBackward::applied == 2);
  CHECK(!grad(b).defined());
  CHECK_CLOSE(at(gradients(mul(mul(a, a), b), {a, b})[1]), 4, 0);
  const Tensor unused = scalar(1, true);
  CHECK(contains(error_of([&] { gradients(mul(a, a), {unused}); }), "allow_unused"));
  CHECK(!gradients(mul(a, a), {unused}, {.allow_unused = true})[0].defined());
  // A gradient of an intermediate, and accumulation into chosen inputs.
  const Tensor m = mul(a, b), n = mul(m, m);
  CHECK_CLOSE(at(gradients(n, {m}, {.keep_graph = true})[0]), 12, 0);
  autograd::backward(TensorList(&n, 1), {}, TensorList(&b, 1), {});
  CHECK(!grad(a).defined());
  CHECK_CLOSE(at(grad(b)), 2 * 6 * 2, 0);
}

TEST(a_wanted_gradient_inside_the_mask_of_another_run) {
  // A hook of a run with inputs starts a full backward through the same node.
  const Tensor a = scalar(2, true), b = scalar(3, true), m = mul(a, b), n = mul(m, m);
  bool nested = false;
  add_hook(m, [&](const Tensor&) {
    if (!std::exchange(nested, true)) backward(m, {.keep_graph = true});
    return Tensor();
  });
  const auto result = gradients(n, {a}, {.keep_graph = true});
  CHECK_CLOSE(at(result[0]), 12 * 3, 0);
  CHECK_CLOSE(at(grad(b)), 2, 0);
}

TEST(hooks_see_and_replace) {
  const Tensor x = scalar(2, true), y = mul(x, x), z = mul(y, y);
  double seen = 0;
  add_hook(y, [&](const Tensor& gradient) {
    seen = at(gradient);
    return mul(gradient, scalar(10));
  });
  const uint64_t removed = add_hook(x, [](const Tensor&) { return scalar(-1); });
  remove_hook(x, removed);
  add_hook(x, [](const Tensor& gradient) { return add(gradient, scalar(1)); });
  double accumulated = 0;
  add_accumulated_hook(x, [&](const Tensor& leaf) { accumulated = at(grad(leaf)); });
  add_post_hook(*grad_fn(z), [](Gradients inputs, const Gradients& outputs) {
    CHECK_CLOSE(at(outputs[0]), 1, 0);
    inputs[0] = scalar(100);
    return inputs;
  });
  backward(z);
  CHECK_CLOSE(seen, 104, 0);
  CHECK_CLOSE(at(grad(x)), 104 * 10 * 4 + 1, 0);
  CHECK_CLOSE(accumulated, 4161, 0);
  const Tensor wrong = mul(x, x);
  add_hook(wrong, [](const Tensor&) { return full(Shape{2}, 1); });
  CHECK(contains(error_of([&] { backward(wrong); }), "MulBackward"));
  CHECK_THROWS(add_hook(scalar(1), [](const Tensor& gradient) { return gradient; }));
}

TEST(in_place_on_leaves) {
  const Tensor leaf = full(Shape{2, 2}, 1, true);
  CHECK(contains(error_of([&] { add_(leaf, scalar(1)); }), "leaf"));
  CHECK(contains(error_of([&] { add_(select(leaf, 0), scalar(1)); }), "view of a leaf"));
  {
    const GradMode no_grad(false);
    add_(leaf, scalar(1));
    add_(select(leaf, 0), scalar(1));
  }
  CHECK_CLOSE(at(leaf), 3, 0);
  CHECK(is_leaf(leaf));
  const Tensor base = mul(leaf, leaf);
  Tensor untracked;
  {
    const GradMode no_grad(false);
    untracked = select(base, 0);
  }
  CHECK(!requires_grad(untracked));
  CHECK(contains(error_of([&] { mul_(untracked, sum(leaf)); }), "grad mode"));
}

TEST(in_place_on_views) {
  // base = x * x; base[0] *= w; base[1] += base-wide view of an earlier row.
  const Tensor x = values(Shape{2, 2}, {1, 2, 3, 4}, true), w = scalar(5, true);
  const Tensor base = mul(x, x), row = select(base, 0), other = select(base, 1);
  mul_(row, w);
  CHECK(std::strcmp(grad_fn(base)->name(), "torch::autograd::CopySlices") == 0);
  CHECK(std::strcmp(grad_fn(row)->name(), "AsStridedBackward0") == 0);
  CHECK(requires_grad(other));
  exp_(select(other, 1));  // a view of a view
  backward(sum(base), {.keep_graph = true});
  CHECK_CLOSE(at(grad(x), 0), 2 * 1 * 5, 1e-12);
  CHECK_CLOSE(at(grad(x), 1), 2 * 2 * 5, 1e-12);
  CHECK_CLOSE(at(grad(x), 2), 2 * 3, 1e-12);
  CHECK_CLOSE(at(grad(x), 3), 2 * 4 * std::exp(16), 1e-6);
  CHECK_CLOSE(at(grad(w)), 1 + 4, 1e-12);
  set_grad(x, Tensor());
  backward(sum(row), {.keep_graph = true});
  CHECK_CLOSE(at(grad(x), 0), 10, 1e-12);
  CHECK_CLOSE(at(grad(x), 2), 0, 0);
  set_grad(x, Tensor());
  backward(sum(mul(other, full(Shape{2}, 2))));
  CHECK_CLOSE(at(grad(x), 2), 12, 1e-12);
  CHECK_CLOSE(at(grad(x), 0), 0, 0);
}

TEST(in_place_on_a_view_of_an_untracked_base) {
  const Tensor base = full(Shape{2, 2}, 3), w = scalar(2, true);
  mul_(select(base, 1), w);
  CHECK(requires_grad(base));
  backward(sum(base));
  CHECK_CLOSE(at(grad(w)), 6, 0);
}

TEST(in_place_on_views_to_second_order) {
  // f = sum(base), base = x*x with row 0 multiplied by x[0, 0].
  const Tensor x = values(Shape{2, 2}, {3, 2, 5, 4}, true);
  const Tensor base = mul(x, x);
  mul_(select(base, 0), select(select(x, 0), 0));
  const Tensor first = gradients(sum(base), {x}, {.keep_graph = true, .create_graph = true})[0];
  // f = a^3 + b^2 a + ...: df/da = 3a^2 + b^2, d2f/da2 = 6a, d2f/dadb = 2b.
  CHECK_CLOSE(at(first), 27 + 4, 1e-12);
  const Tensor second = gradients(select(select(first, 0), 0), {x})[0];
  CHECK_CLOSE(at(second, 0), 18, 1e-12);
  CHECK_CLOSE(at(second, 1), 4, 1e-12);
  CHECK_CLOSE(at(second, 2), 0, 1e-12);
}

TEST(expanded_view_of_a_rebased_base) {
  const Tensor x = values(Shape{1, 3}, {1, 2, 3}, true);
  const Tensor base = mul(x, x), wide = expand(base, Shape{4, 3});
  add_(base, scalar(1));
  backward(sum(wide));
  CHECK_CLOSE(at(grad(x), 1), 4 * 4, 0);
}

TEST(retained_gradient_follows_in_place) {
  const Tensor x = scalar(3, true), y = mul(x, x);
  retain_grad(y);
  mul_(y, scalar(2));
  backward(mul(y, scalar(5)));
  CHECK_CLOSE(at(grad(y)), 5, 0);
  CHECK_CLOSE(at(grad(x)), 60, 0);
}

TEST(detach_shares_the_version) {
  const Tensor x = scalar(3, true), y = mul(x, x), d = detach(y), z = mul(y, y);
  CHECK(!requires_grad(d) && is_leaf(d) && !is_view(d));
  add_(d, scalar(1));
  CHECK(contains(error_of([&] { backward(z); }), "MulBackward"));
}

TEST(first_gradient_is_taken_over_or_copied) {
  // Both leaves get the same gradient: they must not share memory.
  const Tensor a = full(Shape{4}, 1, true), b = full(Shape{4}, 1, true);
  const Tensor root = full(Shape{4}, 2);
  backward(add(a, b), {}, root);
  CHECK(grad(a).raw_data() != grad(b).raw_data());
  CHECK(grad(a).raw_data() != root.raw_data());
  const Tensor before = grad(a);
  backward(add(a, b), {}, root);
  CHECK(grad(a).is_same(before));
  CHECK_CLOSE(at(before), 4, 0);
}

TEST(gradient_of_a_transposed_leaf_has_its_layout) {
  const Tensor storage = full(Shape{2, 3}, 1);
  const Tensor leaf = make_view(storage, Shape{3, 2}, Shape{1, 3}, 0);
  set_requires_grad(leaf, true);
  backward(sum(mul(leaf, leaf)));
  CHECK(equal(grad(leaf).strides(), leaf.strides()));
}

struct Reenter final : Node {
  int depth;
  Tensor x;
  const char* own_name() const override { return "Reenter"; }
  Gradients apply(Gradients&& g) override;
};
Tensor reenter(const Tensor& x, int depth) {
  Tensor result = clone(detach(x));
  auto node = make_ref<Reenter>();
  node->depth = depth;
  node->x = detach(x);
  node->add_input(x);
  set_history(result, node);
  return result;
}
Gradients Reenter::apply(Gradients&& g) {
  if (depth == 0) return std::move(g);
  const Tensor inner = clone(x);
  set_requires_grad(inner, true);
  const GradMode mode(true);
  backward(reenter(inner, depth - 1));
  return {mul(g[0], grad(inner))};
}

TEST(deep_reentrance) {
  const Tensor x = scalar(2, true);
  backward(mul(reenter(x, 2000), scalar(3)));
  CHECK_CLOSE(at(grad(x)), 3, 0);
  // An error passes through all levels.
  struct Failing final : Node {
    const char* own_name() const override { return "Failing"; }
    Gradients apply(Gradients&&) override { fail(ErrorKind::value, "the innermost"); }
  };
  const Tensor y = scalar(1, true);
  add_hook(y, [](const Tensor&) {
    const GradMode mode(true);
    const Tensor leaf = scalar(1, true), result = scalar(1);
    auto node = make_ref<Failing>();
    node->add_input(leaf);
    set_history(result, node);
    backward(result);
    return Tensor();
  });
  CHECK(error_of([&] { backward(mul(y, y)); }) == "the innermost");
}

TEST(callbacks_run_at_the_end) {
  const Tensor x = scalar(2, true), y = mul(x, x);
  double seen = 0;
  add_hook(y, [&](const Tensor&) {
    queue_callback([&] { seen = at(grad(x)); });
    return Tensor();
  });
  backward(y);
  CHECK_CLOSE(seen, 4, 0);
  CHECK_THROWS(queue_callback([] {}));
}

TEST(long_chain) {
  const Tensor x = scalar(1, true);
  const int length = 200000;
  {
    Tensor y = x;
    for (int i = 0; i < length; ++i) y = add(y, x);
    backward(y);
    CHECK_CLOSE(at(grad(x)), length + 1, 0);
  }
  {
    Tensor y = x;  // destroyed without backward, through saved tensors too
    for (int i = 0; i < length; ++i) y = mul(y, y);
  }
}

TEST(wide_frontier) {
  // A frontier of many nodes: the products are all reached before the first one runs.
  std::vector<Tensor> leaves, terms;
  for (int i = 0; i < 300; ++i) leaves.push_back(scalar(i, true));
  struct SumBackward final : Node {
    const char* own_name() const override { return "SumBackward"; }
    Gradients apply(Gradients&& g) override { return Gradients(edges.size(), g[0]); }
  };
  for (int i = 0; i < 300; ++i) terms.push_back(mul(leaves[i], leaves[(i * 7 + 1) % 300]));
  const Tensor total = scalar(0);
  auto node = make_ref<SumBackward>();
  node->add_input(TensorList(terms));
  set_history(total, node);
  backward(total, {.keep_graph = true});
  std::vector<double> expected(300);
  for (int i = 0; i < 300; ++i) {
    expected[i] += (i * 7 + 1) % 300;
    expected[(i * 7 + 1) % 300] += i;
  }
  for (int i = 0; i < 300; ++i) CHECK_CLOSE(at(grad(leaves[i])), expected[i], 0);
  const auto chosen = gradients(total, {leaves[5], leaves[250]});
  CHECK_CLOSE(at(chosen[0]), expected[5], 0);
  CHECK_CLOSE(at(chosen[1]), expected[250], 0);
}

TEST(threads_share_leaves) {
  const Tensor w = full(Shape{8}, 1, true), v = full(Shape{8}, 2, true);
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) backward(sum(mul(mul(w, w), v)));
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK_CLOSE(at(grad(w)), 8 * 200 * 4, 0);
  CHECK_CLOSE(at(grad(v)), 8 * 200 * 1, 0);
}

TEST(graph_made_on_several_threads) {
  // The second thread's count is behind; order must still be topological.
  const Tensor x = scalar(2, true);
  Tensor y = x;
  for (int i = 0; i < 100; ++i) y = add(y, scalar(0));
  Tensor z;
  std::thread([&] { z = add(mul(y, y), y); }).join();
  std::thread([&] { backward(z); }).join();
  CHECK_CLOSE(at(grad(x)), 5, 0);
}

TEST(forward_mode) {
  const uint32_t level = enter_forward_level();
  const Tensor x = scalar(3);
  set_tangent(x, scalar(1));
  CHECK_CLOSE(at(tangent(add(mul(x, x), x))), 7, 0);
  // Forward over reverse: d/dx of the gradient of x^3.
  const Tensor leaf = scalar(3, true);
  set_tangent(leaf, scalar(1));
  const Tensor cube = mul(mul(leaf, leaf), leaf);
  const Tensor first = gradients(cube, {leaf})[0];
  CHECK_CLOSE(at(first), 27, 0);
  CHECK_CLOSE(at(tangent(first)), 18, 0);
  // The derivative of exp reads the saved result, whose tangent comes after it is saved.
  const Tensor grown = exp(leaf);
  set_tangent(grown, mul(grown, scalar(1)));
  CHECK_CLOSE(at(tangent(gradients(grown, {leaf})[0])), std::exp(3), 1e-12);
  {
    const ForwardPause pause;
    CHECK(!has_tangent(x) && tangent(x).defined());
  }
  CHECK_THROWS(enter_forward_level());
  CHECK_THROWS(set_tangent(x, full(Shape{2}, 1)));
  exit_forward_level(level);
  CHECK(!has_tangent(x) && !tangent(x).defined());
}

TEST(anomaly_mode) {
  describe_forward_location = [] { return std::string("model.py, line 12"); };
  set_anomaly_enabled(true);
  const Tensor x = scalar(0, true);
  const Tensor y = mul(x, scalar(NAN));
  const std::string message = error_of([&] { backward(y); });
  set_anomaly_enabled(false);
  CHECK(contains(message, "NaN"));
  CHECK(contains(message, "MulBackward"));
  CHECK(contains(message, "model.py, line 12"));
}

TEST(set_data_keeps_gradients_working) {
  const Tensor w = full(Shape{2}, 1, true);
  backward(sum(mul(w, w)));
  set_data(w, full(Shape{3}, 2));
  CHECK_CLOSE(at(grad(w)), 2, 0);
  set_grad(w, Tensor());
  backward(sum(mul(w, w)));
  CHECK(equal(grad(w).sizes(), Shape{3}));
  CHECK_CLOSE(at(grad(w), 2), 4, 0);
}

TEST(saved_tensor_hooks) {
  // What is kept is doubled, and halved again on the way out.
  int packed = 0, unpacked = 0;
  auto hooks = std::make_shared<SavedTensorHooks>();
  hooks->pack = [&](const Tensor& tensor) {
    ++packed;
    CHECK(!requires_grad(tensor));
    return std::make_shared<Tensor>(mul(tensor, scalar(2)));
  };
  hooks->unpack = [&](const std::shared_ptr<void>& value) {
    ++unpacked;
    return mul(*static_cast<const Tensor*>(value.get()), scalar(0.5));
  };
  const Tensor x = scalar(3, true);
  push_saved_tensor_hooks(hooks);
  const Tensor y = exp(mul(x, x));
  pop_saved_tensor_hooks();
  CHECK(packed == 3);
  const Tensor first = gradients(y, {x}, {.keep_graph = true, .create_graph = true})[0];
  CHECK(unpacked == 3);
  CHECK_CLOSE(at(first), 6 * std::exp(9), 1e-9);
  CHECK_CLOSE(at(gradients(first, {x})[0]), (2 + 36) * std::exp(9), 1e-8);
  disable_saved_tensor_hooks("not here");
  CHECK(contains(error_of([&] { push_saved_tensor_hooks(hooks); }), "not here"));
  disable_saved_tensor_hooks("");
  CHECK_THROWS(pop_saved_tensor_hooks());
}

TEST(leaf_may_go_before_its_graph) {
  Tensor y;
  double seen = 0;
  {
    const Tensor x = scalar(2, true);
    add_hook(x, [&](const Tensor& gradient) {
      seen = at(gradient);
      return Tensor();
    });
    y = add(x, scalar(1));
  }
  backward(y);
  CHECK_CLOSE(seen, 1, 0);
}

}  // namespace
}  // namespace flambeau::testing
