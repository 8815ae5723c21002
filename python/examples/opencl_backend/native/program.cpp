#include "program.h"

#include <mutex>
#include <unordered_map>

#include "context.h"
#include "core/base/error.h"
#include "texts.h"

namespace flambeau::opencl {

void Arguments::real(double value) {
  if (Context::instance().has_doubles) {
    put(value);
  } else {
    put(static_cast<float>(value));
  }
}

namespace {
std::mutex mutex;  // of the cache, and of kernels between their arguments and their launch

std::string build_log(cl_program program) {
  const cl_device_id device = Context::instance().device;
  size_t bytes = 0;
  clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &bytes);
  std::string log(bytes, '\0');
  clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, bytes, log.data(), nullptr);
  return log;
}

cl_kernel compile(const char* name, const std::string& source) {
  const Context& context = Context::instance();
  const char* text = source.c_str();
  cl_int code = CL_SUCCESS;
  const cl_program program = clCreateProgramWithSource(context.context, 1, &text, nullptr, &code);
  check_cl(code, "clCreateProgramWithSource");
  const char* options =
      context.has_doubles ? "-cl-std=CL1.2 -w" : "-cl-std=CL1.2 -w -cl-single-precision-constant";
  code = clBuildProgram(program, 1, &context.device, options, nullptr, nullptr);
  check(code == CL_SUCCESS, ErrorKind::runtime, "opencl: ", name, " does not compile:\n",
        code == CL_SUCCESS ? "" : build_log(program), "\n", source);
  const cl_kernel kernel = clCreateKernel(program, name, &code);
  check_cl(code, "clCreateKernel");
  clReleaseProgram(program);  // the kernel holds it
  return kernel;
}

/// The compiled kernel; compiled once per process, and once per machine where the driver keeps
/// programs on disk, as PoCL does.
cl_kernel find(const char* name, const std::string& source) {
  // Never destroyed: the driver may be gone by then.
  static auto& kernels = *new std::unordered_map<std::string, cl_kernel>;
  const auto [place, is_new] = kernels.try_emplace(std::string(name) + '\n' + source, nullptr);
  if (!is_new) return place->second;
  try {
    return place->second = compile(name, source);
  } catch (...) {
    kernels.erase(place);
    throw;
  }
}
}  // namespace

void run(const char* name, const std::string& source, const Arguments& arguments, Range range) {
  const Context& context = Context::instance();
  size_t bytes = 0;
  for (const auto& value : arguments.values()) bytes += value.bytes.size();
  check(bytes <= context.parameter_bytes, ErrorKind::not_implemented, "opencl: ", name,
        " has arguments of ", bytes, " bytes (dims and operands), the device takes ",
        context.parameter_bytes);
  const std::lock_guard lock(mutex);
  const cl_kernel kernel = find(name, source);
  cl_uint position = 0;
  for (const auto& value : arguments.values()) {
    void* address = nullptr;
    if (value.is_pointer) {
      std::memcpy(&address, value.bytes.data(), sizeof address);
      check_cl(clSetKernelArgSVMPointer(kernel, position, address), "clSetKernelArgSVMPointer");
    } else {
      check_cl(clSetKernelArg(kernel, position, value.bytes.size(), value.bytes.data()),
               "clSetKernelArg");
    }
    ++position;
  }
  // Always the same: some drivers, as PoCL, compile a kernel for each size of groups.
  const size_t group[] = {context.group_size, 1, 1};
  const size_t groups = (range.x + context.group_size - 1) / context.group_size;
  const size_t sizes[] = {groups * context.group_size, range.y, range.z};
  check_cl(
      clEnqueueNDRangeKernel(context.queue, kernel, 3, nullptr, sizes, group, 0, nullptr, nullptr),
      "clEnqueueNDRangeKernel");
}

const char* compute_type(DType dtype) {
  switch (dtype) {
    case DType::bool_:
      return "bool";
    case DType::uint8:
      return "uchar";
    case DType::int8:
      return "char";
    case DType::int16:
      return "short";
    case DType::int32:
      return "int";
    case DType::int64:
      return "long";
    case DType::float64:
      return "double";
    case DType::complex64:
      return "ulong";
    case DType::complex128:
      return "ulong2";
    default:
      return "float";
  }
}

namespace {
/// Whether a source calls one of the functions whose names begin like this.
bool calls(const char* source, const char* name) { return std::strstr(source, name) != nullptr; }
}  // namespace

std::string header(DType dtype, const char* source) {
  const std::string type = compute_type(dtype);
  const bool has_doubles = Context::instance().has_doubles;
  check(has_doubles || dtype != DType::float64, ErrorKind::not_implemented, "opencl: the device ",
        Context::instance().name, " has no float64");
  const bool counts = is_integral(dtype) || dtype == DType::bool_;
  std::string text;
  if (!has_doubles) text += "#define double float\n";
  text += "#define T " + type + "\n#define R " + type + "\n#define N ";
  text += counts ? "long\n" : "double\n";
  text += texts::prelude;
  // Compilers take their time for what is not called, too.
  if (calls(source, "math_")) text += texts::math;
  if (calls(source, "uniform(") || calls(source, "normal(") || calls(source, "random_bits("))
    text += texts::random;
  return text;
}

void check_dtype(const char* name, DType dtype, uint32_t accepted) {
  check(accepted >> static_cast<int>(dtype) & 1, ErrorKind::not_implemented, name,
        ": no kernel for dtype ", dtype,
        " on device opencl; OpenCL C computes in bools, integers and "
        "real numbers");
}

}  // namespace flambeau::opencl
