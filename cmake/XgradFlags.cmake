# Programs that use xgrad get these flags, too, because they compile templates of xgrad and xtensor. With
# -ffp-contract=off, a b + c is rounded twice on every processor and by every compiler; kernels of products call the
# fused operation explicitly. Clang 19 and later need the old rules for template template arguments, because xtensor
# relies on them; clang calls the rules deprecated.
set(clang_19 "$<AND:$<CXX_COMPILER_ID:Clang>,$<VERSION_GREATER_EQUAL:$<CXX_COMPILER_VERSION>,19>>")
set(XGRAD_PUBLIC_FLAGS -ffp-contract=off
  "$<${clang_19}:-fno-relaxed-template-template-args;-Wno-deprecated-no-relaxed-template-template-args>")

# Compiler flags of xgrad's own sources: the flags above, and others.
add_library(xgrad_flags INTERFACE)
target_compile_features(xgrad_flags INTERFACE cxx_std_20)

# Never use -ffast-math: it removes the tests for NaN. The first three flags are safe: no code reads errno after sqrt
# or traps floating-point exceptions, and -fopenmp-simd changes only loops with `omp simd`.
target_compile_options(xgrad_flags INTERFACE
  -fno-math-errno -fno-trapping-math -fopenmp-simd ${XGRAD_PUBLIC_FLAGS})
if(XGRAD_MARCH)
  target_compile_options(xgrad_flags INTERFACE -march=${XGRAD_MARCH})
endif()

target_compile_options(xgrad_flags INTERFACE -Wall -Wextra -Wpedantic $<$<CXX_COMPILER_ID:GNU>:-Wshadow=local> -Wnon-virtual-dtor)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # A false warning about "literal" + std::string (GCC bug 105651).
  target_compile_options(xgrad_flags INTERFACE -Wno-restrict)
  # Two false warnings with precompiled headers. CI's build of preset asan, without these headers, has both warnings on.
  target_compile_options(xgrad_flags INTERFACE "$<$<CONFIG:Release>:-Wno-array-bounds;-Wno-stringop-overflow>")
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # A false warning about copies of xt::svector, the type of shapes. GCC 12, which CI uses, has this warning on.
  target_compile_options(xgrad_flags INTERFACE -Wno-maybe-uninitialized)
else()
  # Clang warns about features that -march=native finds, about `omp simd` on long double, and about libstdc++'s code of
  # stable_partition.
  target_compile_options(xgrad_flags INTERFACE -Wno-invalid-feature-combination -Wno-pass-failed -Wno-deprecated-declarations)
endif()
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(xgrad_flags INTERFACE -Wno-psabi)  # notes about linking with code that GCC 9 compiled
endif()
if(XGRAD_WARNINGS_AS_ERRORS)
  target_compile_options(xgrad_flags INTERFACE -Werror)
endif()

# Kernels are compiled with -O3 even in MinSizeRel. They use vectors of 64 bytes if the processor has them: for many
# processors, GCC would use 32 bytes, with which layer norm takes 2.7 times as long.
function(xgrad_kernels target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:MinSizeRel>:-O3>)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    target_compile_options(${target} PRIVATE -mprefer-vector-width=512)
  endif()
endfunction()

# For commands, configs, reports and similar code: in profiles of training, prediction and reading data, each file takes
# less than 0.1 % of the time. With -O1 they compile in four fifths of the time of -O3.
function(xgrad_cold target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

# Precompiles headers that most sources include, and HEADERS of the libraries LINKS, once for all targets with the same
# compile options: GCC may crash if the options differ. Programs that use xgrad are not affected. Every source still
# includes all headers that it needs, so that it compiles without precompiled headers. CI's build of preset asan checks
# this with CMAKE_DISABLE_PRECOMPILE_HEADERS=ON.
function(xgrad_precompiled target)
  cmake_parse_arguments(arg "" "" "HEADERS;LINKS" ${ARGN})
  get_target_property(options ${target} COMPILE_OPTIONS)
  get_target_property(pic ${target} POSITION_INDEPENDENT_CODE)
  if(NOT options)
    set(options "")
  endif()
  string(MD5 id "${pic} ${options} ${arg_HEADERS}")
  string(SUBSTRING ${id} 0 6 id)
  set(headers xgrad_headers_${id})
  if(NOT TARGET ${headers})
    file(WRITE ${PROJECT_BINARY_DIR}/headers/empty.cpp "")
    add_library(${headers} OBJECT EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/headers/empty.cpp)
    target_compile_options(${headers} PRIVATE ${options})
    set_target_properties(${headers} PROPERTIES POSITION_INDEPENDENT_CODE ${pic})
    target_include_directories(${headers} PRIVATE ${PROJECT_BINARY_DIR}/headers/autograd)
    target_link_libraries(${headers} PRIVATE xtensor TBB::tbb xgrad_flags ${arg_LINKS})
    target_precompile_headers(${headers} PRIVATE
      <xgrad/autograd/tensor.hpp> <filesystem> <functional> <map> <optional> <set> <string> <variant> ${arg_HEADERS})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${headers})
endfunction()
