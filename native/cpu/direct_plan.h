#pragma once

/// Plans of loops over halves as they are in memory. Include only from *.simd.cpp files.

#include <algorithm>

#include "cpu/loops.h"

namespace flambeau::cpu::FLAMBEAU_ISA::detail {

/// A plan whose loops take bfloat16 as it is in memory. Of half types, its operands have no other.
class DirectPlan {
 public:
  explicit DirectPlan(const MapPlan& plan) : plan_(plan) {
    for (int i = 0; i < plan.operand_count; ++i) {
      operands_[i] = plan.operands[i];
      operands_[i].conversion = Conversion::none;
      operands_[i].compute_bytes = operands_[i].bytes;
    }
    plan_.operands = operands_;
    plan_.loop = plan.bfloat16[0];
    plan_.repeating = plan.bfloat16;
    plan_.bfloat16 = nullptr;
  }
  DirectPlan(const DirectPlan&) = delete;
  DirectPlan& operator=(const DirectPlan&) = delete;
  const MapPlan& get() const { return plan_; }

 private:
  MapPlan plan_;
  OperandKind operands_[Iterator::kMaxOperands] = {};
};

inline bool reads_bfloat16(const MapPlan& plan) {
  return plan.bfloat16 && std::any_of(plan.operands, plan.operands + plan.operand_count,
                                      [](const OperandKind& operand) {
                                        return operand.conversion == Conversion::from_bfloat16;
                                      });
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA::detail
