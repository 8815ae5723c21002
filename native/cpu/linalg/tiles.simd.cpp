#include "cpu/linalg/tile.h"

namespace flambeau::cpu::FLAMBEAU_ISA {

template struct Tiles<float, StridedRows<float>, SteppedLines<float>, Epilogue<float>, 1>;
template struct Tiles<double, StridedRows<double>, SteppedLines<double>, Epilogue<double>, 1>;

}  // namespace flambeau::cpu::FLAMBEAU_ISA
