# Compiler flags of our own sources; nothing here reaches a program that uses xgrad.
add_library(xgrad_flags INTERFACE)
target_compile_features(xgrad_flags INTERFACE cxx_std_20)

# Never -ffast-math: it deletes the tests for NaN. These three are safe: nobody reads errno after sqrt, nobody
# traps floating-point exceptions, and `omp simd` only speaks where we write it.
# Without contraction a b + c is rounded twice on every processor and by every compiler; a product's kernels name the
# fused operation.
target_compile_options(xgrad_flags INTERFACE
  -fno-math-errno -fno-trapping-math -fopenmp-simd -ffp-contract=off)
if(XGRAD_MARCH)
  target_compile_options(xgrad_flags INTERFACE -march=${XGRAD_MARCH})
endif()

target_compile_options(xgrad_flags INTERFACE -Wall -Wextra -Wpedantic $<$<CXX_COMPILER_ID:GNU>:-Wshadow=local> -Wnon-virtual-dtor)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # Fires on "literal" + std::string (GCC bug 105651).
  target_compile_options(xgrad_flags INTERFACE -Wno-restrict)
  # So do these two with precompiled headers; the build of preset asan in CI does without, and still looks.
  target_compile_options(xgrad_flags INTERFACE "$<$<CONFIG:Release>:-Wno-array-bounds;-Wno-stringop-overflow>")
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Fires on copies of xt::svector, which every shape is. GCC 12, CI's, still looks.
  target_compile_options(xgrad_flags INTERFACE -Wno-maybe-uninitialized)
else()
  # xtensor's templates need the older rules for templates of templates, which clang 19 calls deprecated. It also warns of
  # features that -march=native found, of `omp simd` on long double, and of what libstdc++ uses within stable_partition.
  target_compile_options(xgrad_flags INTERFACE -fno-relaxed-template-template-args
    -Wno-deprecated-no-relaxed-template-template-args -Wno-invalid-feature-combination -Wno-pass-failed
    -Wno-deprecated-declarations)
endif()
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(xgrad_flags INTERFACE -Wno-psabi)  # notes for those who link what GCC 9 compiled
endif()
if(XGRAD_WARNINGS_AS_ERRORS)
  target_compile_options(xgrad_flags INTERFACE -Werror)
endif()

# Kernels are fast where the rest is small, and use whole vectors of 64 bytes where the processor has them: GCC
# halves them for many processors, which cost layer norm 2.7 times its time.
function(xgrad_kernels target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:MinSizeRel>:-O3>)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    target_compile_options(${target} PRIVATE -mprefer-vector-width=512)
  endif()
endfunction()

# Commands, configs, reports and the like: a profile of training, of prediction and of reading data shows less than 0.1 %
# of the time in each of their files. They compile in four fifths of the time that -O3 takes.
function(xgrad_cold target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

# Headers that most sources include, and the HEADERS of the libraries LINKS, compiled once for all targets that have the
# same options of their own: GCC may crash where they differ. A program that uses xgrad sees nothing of this. Every
# source still names what it includes, so that it compiles without: CMAKE_DISABLE_PRECOMPILE_HEADERS=ON, as in CI's
# build of preset asan.
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
