#include <algorithm>
#include <vector>

#include "cpu/dtype_switch.h"
#include "cpu/sparse/groups.h"
#include "kernels/sparse_parts.h"

/// Products of two sparse matrices, row by row (Gustavson, "Two fast algorithms for sparse
/// matrices", 1978). Columns are numbered among those that occur, so that memory follows what the
/// matrices hold, not their size.
namespace flambeau::cpu {
namespace {

constexpr const char* kOp = "mm()";

/// The columns that occur, ascending, and their numbers.
class Columns {
 public:
  explicit Columns(const Tensor& columns)
      : found_(columns.data<int64_t>(), columns.data<int64_t>() + columns.numel()) {
    std::sort(found_.begin(), found_.end());
    found_.erase(std::unique(found_.begin(), found_.end()), found_.end());
  }
  size_t count() const { return found_.size(); }
  int64_t column(int64_t number) const { return found_[static_cast<size_t>(number)]; }
  /// The number of each column, -1 of those that do not occur.
  std::vector<int64_t> numbers_of(const Tensor& columns) const {
    const int64_t* const given = columns.data<int64_t>();
    std::vector<int64_t> result(static_cast<size_t>(columns.numel()));
    std::transform(given, given + columns.numel(), result.begin(), [this](int64_t column) {
      const auto at = std::lower_bound(found_.begin(), found_.end(), column);
      return at != found_.end() && *at == column ? at - found_.begin() : -1;
    });
    return result;
  }

 private:
  std::vector<int64_t> found_;
};

/// For each entry of a first matrix the group of the second's rows that it is multiplied with.
std::vector<int64_t> partners(const Tensor& columns, const RowGroups& second) {
  std::vector<int64_t> result(static_cast<size_t>(columns.numel()));
  std::transform(columns.data<int64_t>(), columns.data<int64_t>() + columns.numel(), result.begin(),
                 [&](int64_t column) { return second.find(column); });
  return result;
}

/// Where the product of two matrices of places can be other than zero.
class Pattern {
 public:
  Pattern(const Tensor& first, const Tensor& second, int64_t rows, int64_t inner)
      : left_(index_row(first, 0), rows, kOp),
        right_(index_row(second, 0), inner, kOp),
        partner_(partners(index_row(first, 1), right_)),
        columns_(index_row(second, 1)),
        number_(columns_.numbers_of(index_row(second, 1))),
        seen_in_(columns_.count(), -1) {}

  /// The places, int64 [2, n], in row-major order.
  Tensor places(Device device) {
    std::vector<int64_t> rows, columns;
    for (int64_t group = 0; group < left_.count(); ++group) {
      const size_t before = columns.size();
      add_row(group, columns);
      std::sort(columns.begin() + static_cast<std::ptrdiff_t>(before), columns.end());
      rows.resize(columns.size(), left_.row(group));
    }
    const int64_t count = static_cast<int64_t>(rows.size());
    const Tensor result = flambeau::empty(Shape{2, count}, DType::int64, device);
    std::copy(rows.begin(), rows.end(), result.data<int64_t>());
    std::transform(columns.begin(), columns.end(), result.data<int64_t>() + count,
                   [this](int64_t number) { return columns_.column(number); });
    return result;
  }

 private:
  /// Appends the numbers of the columns of one row, each once.
  void add_row(int64_t group, std::vector<int64_t>& columns) {
    for (const int64_t* entry = left_.begin(group); entry != left_.end(group); ++entry) {
      const int64_t partner = partner_[static_cast<size_t>(*entry)];
      if (partner < 0) continue;
      for (const int64_t* other = right_.begin(partner); other != right_.end(partner); ++other) {
        const int64_t number = number_[static_cast<size_t>(*other)];
        if (std::exchange(seen_in_[static_cast<size_t>(number)], group) != group)
          columns.push_back(number);
      }
    }
  }

  RowGroups left_, right_;
  std::vector<int64_t> partner_;  // of each entry on the left
  Columns columns_;
  std::vector<int64_t> number_;   // of each entry on the right
  std::vector<int64_t> seen_in_;  // of each column, the last group that has it
};

/// Elements of a product at places.
class ProductAt {
 public:
  ProductAt(const Tensor& places, const Tensor& first, const Tensor& second, int64_t rows,
            int64_t inner)
      : wanted_(index_row(places, 0), rows, kOp),
        left_(index_row(first, 0), rows, kOp),
        right_(index_row(second, 0), inner, kOp),
        partner_(partners(index_row(first, 1), right_)),
        columns_(index_row(places, 1)),
        wanted_number_(columns_.numbers_of(index_row(places, 1))),
        number_(columns_.numbers_of(index_row(second, 1))) {}

  template <class T>
  void compute(T* out, const T* values, const T* others) const {
    const int64_t per_row = static_cast<int64_t>(partner_.size()) / (wanted_.count() + 1) + 1;
    const int64_t grain = std::max<int64_t>(1, kGrain / (16 * per_row));
    parallel_for(0, wanted_.count(), grain, [&](int64_t begin, int64_t end) {
      std::vector<Collected<T>> sums(columns_.count(), Collected<T>(0));
      for (int64_t group = begin; group < end; ++group) {
        for_wanted(group, [&](size_t, size_t number) { sums[number] = Collected<T>(0); });
        add(left_.find(wanted_.row(group)), values, others, sums);
        for_wanted(group, [&](size_t place, size_t number) { out[place] = T(sums[number]); });
      }
    });
  }

 private:
  /// Calls body(position of the place, number of its column).
  template <class Body>
  void for_wanted(int64_t group, const Body& body) const {
    for (const int64_t* place = wanted_.begin(group); place != wanted_.end(group); ++place) {
      const size_t position = static_cast<size_t>(*place);
      body(position, static_cast<size_t>(wanted_number_[position]));
    }
  }

  /// Adds the products of one row on the left; sums of columns that nobody wants here are not read.
  template <class T>
  void add(int64_t group, const T* values, const T* others, std::vector<Collected<T>>& sums) const {
    if (group < 0) return;
    for (const int64_t* entry = left_.begin(group); entry != left_.end(group); ++entry) {
      const int64_t partner = partner_[static_cast<size_t>(*entry)];
      if (partner < 0) continue;
      const Collected<T> value(values[*entry]);
      for (const int64_t* other = right_.begin(partner); other != right_.end(partner); ++other) {
        const int64_t number = number_[static_cast<size_t>(*other)];
        if (number < 0) continue;
        Collected<T>& sum = sums[static_cast<size_t>(number)];
        sum = plus(sum, times(value, Collected<T>(others[*other])));
      }
    }
  }

  RowGroups wanted_, left_, right_;
  std::vector<int64_t> partner_;  // of each entry on the left
  Columns columns_;
  std::vector<int64_t> wanted_number_;  // of each place
  std::vector<int64_t> number_;         // of each entry on the right
};

}  // namespace

Tensor sparse_pattern(const Tensor& indices, const Tensor& others, IntList size) {
  return Pattern(indices, others, size[0], size[1]).places(indices.device());
}

void sparse_product_at(const Tensor& result, const Tensor& places, const Tensor& indices,
                       const Tensor& values, const Tensor& others, const Tensor& numbers,
                       IntList size) {
  const ProductAt product(places, indices, others, size[0], size[1]);
  const Tensor left = contiguous_data(values), right = contiguous_data(numbers);
  visit_dtype(result.dtype(), [&]<class T>() {
    product.compute(result.data<T>(), left.data<T>(), right.data<T>());
  });
}

}  // namespace flambeau::cpu
