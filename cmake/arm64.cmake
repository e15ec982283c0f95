# Cross-compiles for Debian's arm64. Programs run under qemu-user (.ci/arm):
#
#   cmake --toolchain cmake/arm64.cmake -DCMAKE_SYSROOT=ROOT ...   # ROOT: a folder with the libraries of arm64
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L ${CMAKE_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
foreach(kind LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()
set(XGRAD_MARCH "" CACHE STRING "Every processor of the family")
