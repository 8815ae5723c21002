#include "cpu/nn/placed_rows.h"

namespace flambeau::cpu::FLAMBEAU_ISA {

template struct Tiles<float, PlacedRows<float>, SteppedLines<float>, Epilogue<float>, 1>;
template struct Tiles<double, PlacedRows<double>, SteppedLines<double>, Epilogue<double>, 1>;

}  // namespace flambeau::cpu::FLAMBEAU_ISA
