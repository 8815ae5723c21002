#include "python/module/module.h"

PyMODINIT_FUNC PyInit__C() {
  static PyModuleDef definition = {
      .m_base = PyModuleDef_HEAD_INIT,
      .m_name = "_C",
      .m_doc = "The compiled part of flambeau; import flambeau instead.",
      .m_size = -1,
      .m_methods = nullptr,
      .m_slots = nullptr,
      .m_traverse = nullptr,
      .m_clear = nullptr,
      .m_free = nullptr};
  return flambeau::python::create_module(definition);
}
