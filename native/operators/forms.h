#pragma once

#include <array>
#include <tuple>
#include <utility>

#include "autograd/recording/operator.h"
#include "core/profiling/recorder.h"
#include "core/threads/parallel.h"
#include "operators/node.h"
#include "operators/profiled.h"
#include "operators/taken.h"
#include "operators/tracked.h"

/// The forms of a declared operator: a call, writes in place, writes to out=. Each is written here,
/// once, over a description of the operator:
///
///     struct ExpOperator : Recorded<ExpBackward, 0> {  // argument 0 is tracked
///       static constexpr char name[] = "exp";
///       static Tensor compute(const Destination& to, const Tensor& self);
///       static void save(ExpBackward& node, const Tensor& self, bool overwrites);
///       static void save_results(ExpBackward& node, const Tensor& result);
///       static void set_tangents(const Tensor& result, const Tensor& self);
///     };
///     Tensor exp(const Tensor& self) { return forms::call<ExpOperator>(self); }
///     const Tensor& exp_(const Tensor& self) { return forms::call_inplace<ExpOperator>(self); }
///
/// `compute` gives all results, hidden ones too, and knows nothing of autograd; where the operator
/// `spares_results`, it is told first whether derivatives will read those. `save` keeps what the
/// gradients read of the arguments, `save_results` what they read of the results. Without
/// `set_tangents`, forward mode is an error. `name` is that of messages; `function` is that in C++,
/// `shown` that in profiles, where they differ. What is absent costs nothing.
///
/// A form begins with what a profile and those who may take the call over see of it, unless its
/// caller has begun it (Begun::before), as one has to that decides before whether to call it.
namespace flambeau::forms {

template <size_t... indices>
struct Indices {};

/// Where a computation puts its result: a new tensor, or one that is given.
struct Destination {
  const Tensor& tensor;
  bool inplace = false;  ///< it is an argument, too: its shape is that of the result
};
inline const Tensor kNew;

/// An operator that records nothing. Descriptions say what differs.
struct Plain {
  using Inputs = Indices<>;
  static constexpr bool is_recorded = false;
};
/// One that records a node, for the gradients of some arguments.
template <class N, size_t... inputs>
struct Recorded {
  using Node = N;
  using Inputs = Indices<inputs...>;  ///< of the arguments that gradients flow to
  using Outputs = Indices<0>;         ///< of the results that have gradients
  static constexpr bool is_recorded = true;
  static constexpr bool has_zero_tangents = false;  ///< and so needs no set_tangents
};

enum class Begun : bool { here, before };

namespace detail {

/// "exp_", from "exp".
template <size_t size>
constexpr std::array<char, size + 1> inplace_name(const char (&name)[size]) {
  std::array<char, size + 1> result{};
  for (size_t i = 0; i + 1 < size; ++i) result[i] = name[i];
  result[size - 1] = '_';
  return result;
}
template <class Op>
constexpr auto& function_name() {
  if constexpr (requires { Op::function; }) {
    return Op::function;
  } else {
    return Op::name;
  }
}
template <class Op>
constexpr auto& shown_name() {
  if constexpr (requires { Op::shown; }) {
    return Op::shown;
  } else {
    return Op::name;
  }
}
template <class Op>
inline constexpr auto kInplaceName = inplace_name(Op::name);
template <class Op>
inline constexpr auto kInplaceFunction = inplace_name(function_name<Op>());
template <class Op>
inline constexpr auto kInplaceShown = inplace_name(shown_name<Op>());

/// Whether gradients flow to the first argument.
template <class Inputs>
inline constexpr bool kTracksFirst = false;
template <size_t... rest>
inline constexpr bool kTracksFirst<Indices<0, rest...>> = true;

template <size_t... i, class... Args>
FLAMBEAU_INLINE bool any_has_autograd(Indices<i...>, const Args&... args) {
  [[maybe_unused]] const auto all = std::forward_as_tuple(args...);
  return (autograd::has_autograd(std::get<i>(all)) || ...);
}
template <size_t... i, class... Args>
FLAMBEAU_INLINE std::array<Tracked, sizeof...(i)> tracked(Indices<i...>, const Args&... args) {
  [[maybe_unused]] const auto all = std::forward_as_tuple(args...);
  return {Tracked(std::get<i>(all))...};
}

/// Results as a tuple, however many there are.
template <class Result>
FLAMBEAU_INLINE std::tuple<const Result&> each(const Result& result) {
  return {result};
}
template <class... Results>
FLAMBEAU_INLINE std::tuple<const Results&...> each(const std::tuple<Results...>& results) {
  return std::apply([](const Results&... all) { return std::tie(all...); }, results);
}

template <class Function>
inline constexpr bool kTakesDestination = false;
template <class Result, class... Args>
inline constexpr bool kTakesDestination<Result (*)(const Destination&, Args...)> = true;
template <class Op>
concept IsWriter = kTakesDestination<decltype(&Op::compute)>;
template <class Op>
concept Saves = requires {
  &Op::save;
};
template <class Op>
concept SavesResults = requires {
  &Op::save_results;
};
template <class Op>
concept SetsTangents = requires {
  &Op::set_tangents;
};
template <class Op>
concept HidesResults = requires {
  typename Op::Visible;
};
template <class Op>
concept SparesResults = requires {
  Op::spares_results;
};

/// What a call comes to that profiles see, and somebody else may compute.
template <class Result, Begun begun, class Run, class... Args>
FLAMBEAU_INLINE Result seen(const char* shown, const char* function, Asked asked, const Run& run,
                            const Args&... args) {
  if constexpr (begun == Begun::here) {
    const Profiled profiled(shown, args...);
    if (profiled.may_be_taken()) {
      if (auto found = taken<Result>(function, asked, args...)) return *std::move(found);
    }
    return run();
  } else {
    return run();
  }
}
/// When others are asked about an operator of these results.
template <class Op>
inline constexpr Asked kAsked = HidesResults<Op> ? Asked::alone : Asked::before;

template <class Op, class... Args>
FLAMBEAU_INLINE auto compute(const Args&... args) {
  if constexpr (IsWriter<Op>) {
    return Op::compute(Destination{kNew}, args...);
  } else {
    return Op::compute(args...);
  }
}

/// The node of this call; null where no gradient is wanted.
template <class Op, class... Args>
[[gnu::noinline]] Ref<typename Op::Node> record(TrackedList tracked, bool overwrites,
                                                const Args&... args) {
  if (!is_recorded(tracked)) return {};
  auto node = make_ref<typename Op::Node>();
  add_inputs(*node, tracked);
  if constexpr (Saves<Op>) Op::save(*node, args..., overwrites);
  return node;
}

/// Makes results outputs of the node, in order. The last use hands the reference over, where nobody
/// needs it later: two atomic operations less.
template <bool hands_over, size_t... outputs, class Results, class Node>
void link(Indices<outputs...>, const Results& results, Ref<Node>& node) {
  uint32_t index = 0;
  const auto one = [&]<class Result>(const Result& result) {
    if constexpr (!std::is_same_v<Result, Tensor>) {
      autograd::set_history(TensorList(result), Ref<autograd::Node>(node.get()), index);
    } else if (hands_over && index + 1 == sizeof...(outputs)) {
      autograd::set_history(result, std::move(node), index);
    } else {
      autograd::set_history(result, node, index);
    }
    ++index;
  };
  (one(std::get<outputs>(results)), ...);
}

template <size_t... i, class... Results>
FLAMBEAU_INLINE auto visible(Indices<i...>, std::tuple<Results...>&& results) {
  if constexpr (sizeof...(i) == 1) {
    return std::move(std::get<i...>(results));
  } else {
    return std::tuple(std::move(std::get<i>(results))...);
  }
}
/// What users get of the results.
template <class Op, class Results>
FLAMBEAU_INLINE auto visible(Results&& results) {
  if constexpr (HidesResults<Op>) {
    return visible(typename Op::Visible{}, std::move(results));
  } else {
    return std::move(results);
  }
}

/// What an operator computes below autograd, or what somebody else makes of it.
template <class Op, class Compute, class... Args>
auto computed_below(const Compute& compute, const Args&... args) {
  using Result = std::remove_cvref_t<decltype(compute())>;
  if constexpr (!HidesResults<Op> && Results<Result>::are_known) {
    if (FLAMBEAU_UNLIKELY(profiling::recorded_now() & profiling::kTaken)) {
      if (auto found = taken<Result>(function_name<Op>(), Asked::inside, args...)) {
        return *std::move(found);
      }
    }
  }
  return compute();
}

/// A call that autograd looks at.
template <class Op, class... Args>
[[gnu::noinline]] auto call_recorded(const Args&... args) {
  const auto inputs = tracked(typename Op::Inputs{}, args...);
  constexpr bool knows_tangents = SetsTangents<Op> || Op::has_zero_tangents;
  if constexpr (!knows_tangents) refuse_tangents(inputs, Op::name);
  auto node = record<Op>(inputs, false, args...);
  const auto run = [&] {
    if constexpr (SparesResults<Op>) {
      return Op::compute(node || any_has_tangent(inputs), args...);
    } else {
      return compute<Op>(args...);
    }
  };
  auto results = computed_below<Op>(run, args...);
  if (node) {
    link<!SavesResults<Op>>(typename Op::Outputs{}, each(results), node);
    if constexpr (SavesResults<Op>) {
      std::apply([&](const auto&... all) { Op::save_results(*node, all...); }, each(results));
    }
  }
  if constexpr (SetsTangents<Op>) {
    if (any_has_tangent(inputs)) {
      std::apply([&](const auto&... all) { Op::set_tangents(all..., args...); }, each(results));
    }
  }
  return visible<Op>(std::move(results));
}

template <class Op, class... Args>
FLAMBEAU_INLINE auto called(const Args&... args) {
  if constexpr (!Op::is_recorded) {
    return visible<Op>(compute<Op>(args...));
  } else {
    if constexpr (!HidesResults<Op>) {
      if (FLAMBEAU_LIKELY(!any_has_autograd(typename Op::Inputs{}, args...))) {
        return compute<Op>(args...);
      }
    }
    return call_recorded<Op>(args...);
  }
}

/// The result knows its base, tracked or not.
template <class Op, class... Args>
auto viewed(const Tensor& base, const Args&... args) {
  const auto compute = [&] { return Op::compute(base, args...); };
  auto result = FLAMBEAU_LIKELY(!autograd::has_autograd(base))
                    ? compute()
                    : computed_below<Op>(compute, base, args...);
  if constexpr (Op::is_recorded) {
    constexpr bool is_list = !std::is_same_v<decltype(result), Tensor>;
    if constexpr (is_list) {
      for (const Tensor& view : result) autograd::set_view(view, base, true);
    } else {
      autograd::set_view(result, base);
    }
    if (autograd::has_autograd(base)) {
      const std::array<Tracked, 1> inputs{base};
      constexpr bool knows_tangents = SetsTangents<Op> || Op::has_zero_tangents;
      if constexpr (!knows_tangents) refuse_tangents(inputs, Op::name);
      if (auto node = record<Op>(inputs, false, base, args...)) {
        link<!SavesResults<Op>>(Indices<0>{}, each(result), node);
        if constexpr (SavesResults<Op>) Op::save_results(*node, result);
      }
      if constexpr (SetsTangents<Op>) {
        if (any_has_tangent(inputs)) Op::set_tangents(result, base, args...);
      }
    }
  }
  return result;
}

}  // namespace detail

/// The operator as a function.
template <class Op, Begun begun = Begun::here, class... Args>
FLAMBEAU_INLINE auto call(const Args&... args) {
  const auto run = [&]() { return detail::called<Op>(args...); };
  return detail::seen<decltype(run()), begun>(detail::shown_name<Op>(), detail::function_name<Op>(),
                                              detail::kAsked<Op>, run, args...);
}

/// A view.
template <class Op, Begun begun = Begun::here, class... Args>
auto call_view(const Tensor& base, const Args&... args) {
  const auto run = [&] { return detail::viewed<Op>(base, args...); };
  return detail::seen<decltype(run()), begun>(detail::shown_name<Op>(), detail::function_name<Op>(),
                                              detail::kAsked<Op>, run, base, args...);
}

/// A view that takes the place of its base.
template <class Op, class... Args>
const Tensor& become_view(const Tensor& self, const Args&... args) {
  const auto run = [&]() -> const Tensor& {
    autograd::check_inplace(self, detail::kInplaceName<Op>.data(), autograd::requires_grad(self));
    autograd::become_view(self, detail::viewed<Op>(self, args...));
    self.bump_version();  // what saved the tensor finds another geometry
    return self;
  };
  return detail::seen<const Tensor&, Begun::here>(detail::kInplaceShown<Op>.data(),
                                                  detail::kInplaceFunction<Op>.data(),
                                                  detail::kAsked<Op>, run, self, args...);
}

/// An in-place form that copies the result over its first argument. What the operator saves must
/// not be overwritten, so it gets a copy where it records. `compute` gets the copy, or the
/// argument.
FLAMBEAU_API const Tensor& overwrite(const Tensor& self, const char* op, TrackedList tracked,
                                     FunctionRef<Tensor(const Tensor&)> compute);
/// One of another function of C++.
template <auto& function, class... Args>
const Tensor& overwrite_by(const Tensor& self, const char* op, const Args&... args) {
  return overwrite(self, op, tracked(self, args...),
                   [&](const Tensor& before) -> Tensor { return function(before, args...); });
}

namespace detail {

/// Writes the result over the first argument; results, where there are others to save.
template <class Op, class... Args>
FLAMBEAU_INLINE auto write_first(const Tensor& self, const Args&... args) {
  if constexpr (IsWriter<Op>) {
    Op::compute(Destination{self, true}, self, args...);
    self.bump_version();
    return std::tuple<const Tensor&>(self);
  } else {
    auto results = Op::compute(self, args...);
    autograd::write_inplace(self, std::get<0>(each(results)), kInplaceName<Op>.data());
    return results;
  }
}

/// A write that autograd looks at.
template <class Op, class... Args>
[[gnu::noinline]] const Tensor& write_recorded(const Tensor& self, const Args&... args) {
  constexpr const char* name = kInplaceName<Op>.data();
  const auto inputs = tracked(typename Op::Inputs{}, self, args...);
  if constexpr (SetsTangents<Op> || Op::has_zero_tangents) {
    if (FLAMBEAU_UNLIKELY(any_has_tangent(inputs))) {
      const auto again = [&](const Tensor& before) { return call_recorded<Op>(before, args...); };
      return overwrite(self, name, inputs, again);
    }
  } else {
    refuse_tangents(inputs, name);
  }
  const auto node = record<Op>(inputs, true, self, args...);
  autograd::check_inplace(self, name, static_cast<bool>(node));
  const auto finish = [&](const auto& results) {
    if (!node) return;
    autograd::rebase_history(self, Ref<autograd::Node>(node.get()));
    if constexpr (SavesResults<Op>) {
      const auto save = [&](const auto&, const auto&... hidden) {
        Op::save_results(*node, self, hidden...);
      };
      std::apply(save, results);
    }
  };
  if constexpr (!HidesResults<Op>) {
    if (FLAMBEAU_UNLIKELY(profiling::recorded_now() & profiling::kTaken)) {
      if (taken<const Tensor&>(kInplaceFunction<Op>.data(), Asked::inside, self, args...)) {
        finish(std::tuple<const Tensor&>(self));
        return self;
      }
    }
  }
  const auto results = write_first<Op>(self, args...);
  finish(each(results));
  return self;
}

template <class Op, class... Args>
FLAMBEAU_INLINE const Tensor& written(const Tensor& self, const Args&... args) {
  if constexpr (Op::is_recorded) {
    if (FLAMBEAU_UNLIKELY(any_has_autograd(typename Op::Inputs{}, self, args...))) {
      return write_recorded<Op>(self, args...);
    }
  }
  if constexpr (!kTracksFirst<typename Op::Inputs>) {
    if (FLAMBEAU_UNLIKELY(autograd::has_autograd(self))) {
      // The result is constant, but what it overwrites may not be.
      const std::array<Tracked, 1> inputs{self};
      if (any_requires_grad(inputs) || any_has_tangent(inputs)) {
        const auto again = [&](const Tensor& before) { return called<Op>(before, args...); };
        return overwrite(self, kInplaceName<Op>.data(), inputs, again);
      }
    }
  }
  autograd::check_inplace(self, kInplaceName<Op>.data(), false);
  write_first<Op>(self, args...);
  return self;
}

}  // namespace detail

/// The operator, written over its first argument.
template <class Op, Begun begun = Begun::here, class... Args>
const Tensor& call_inplace(const Tensor& self, const Args&... args) {
  const auto run = [&]() -> const Tensor& { return detail::written<Op>(self, args...); };
  return detail::seen<const Tensor&, begun>(detail::kInplaceShown<Op>.data(),
                                            detail::kInplaceFunction<Op>.data(), detail::kAsked<Op>,
                                            run, self, args...);
}

/// What other operators compute, written to `out`.
FLAMBEAU_API const Tensor& write_out(const Tensor& out, const char* op, TrackedList tracked,
                                     FunctionRef<Tensor()> compute);
/// What a function of C++ computes.
template <auto& function, class... Args>
const Tensor& write_out_by(const Tensor& out, const char* op, const Args&... args) {
  return write_out(out, op, tracked(args...), [&]() -> Tensor { return function(args...); });
}

namespace detail {

template <class Op, class... Args>
const Tensor& written_to(const Tensor& out, const Args&... args) {
  const auto inputs = tracked(typename Op::Inputs{}, args...);
  autograd::check_out(out, any_requires_grad(inputs), any_has_tangent(inputs), Op::name);
  if constexpr (IsWriter<Op>) {
    Op::compute(Destination{out}, args...);
    out.bump_version();
  } else {
    const GradMode no_grad(false);
    autograd::write_out({{out, called<Op>(args...)}}, Op::name);
  }
  return out;
}

}  // namespace detail

/// The operator, written to `out`: by `function`, which is the operator too, where others may take
/// its call.
template <class Op, auto& function, Begun begun = Begun::here, class... Args>
const Tensor& call_out(const Tensor& out, const Args&... args) {
  if constexpr (begun == Begun::here) {
    const Profiled profiled(detail::shown_name<Op>(), args...);
    if (profiled.may_be_taken()) return write_out_by<function>(out, Op::name, args...);
    return detail::written_to<Op>(out, args...);
  } else {
    return detail::written_to<Op>(out, args...);
  }
}

/// Counts up the versions of those that are defined.
FLAMBEAU_API void bump_versions(TrackedList written);

namespace detail {

template <class Op, class... Args>
const Tensor& mutated(const Args&... args) {
  const auto written = tracked(typename Op::Written{}, args...);
  const Tensor& target = written[0].tensor();
  const auto compute = [&](bool records) {
    // An undefined one is told by what checks arguments.
    if (target.defined()) autograd::check_inplace(target, Op::name, records);
    if constexpr (SetsTangents<Op>) {
      if (any_has_tangent(tracked(typename Op::Inputs{}, args...))) Op::set_tangents(args...);
    }
    Op::compute(args...);
    bump_versions(written);
  };
  if constexpr (Op::is_recorded) {
    const auto inputs = tracked(typename Op::Inputs{}, args...);
    if constexpr (!SetsTangents<Op> && !Op::has_zero_tangents) refuse_tangents(inputs, Op::name);
    const auto node = record<Op>(inputs, true, args...);
    compute(static_cast<bool>(node));
    if (!node) return target;
    autograd::rebase_history(target, Ref<autograd::Node>(node.get()));
    if constexpr (SavesResults<Op>) Op::save_results(*node, target);
  } else {
    compute(false);
  }
  return target;
}

}  // namespace detail

/// An operator that is declared to write into an argument, the first of Op::Written.
template <class Op, Begun begun = Begun::here, class... Args>
const Tensor& call_mutating(const Args&... args) {
  const auto run = [&]() -> const Tensor& { return detail::mutated<Op>(args...); };
  return detail::seen<const Tensor&, begun>(detail::shown_name<Op>(), detail::function_name<Op>(),
                                            detail::kAsked<Op>, run, args...);
}

}  // namespace flambeau::forms
