# What `cmake --install` makes: headers, library, tool, and what find_package() and pkg-config read.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

target_include_directories(xgrad PUBLIC $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
set_target_properties(xgrad PROPERTIES VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})

install(TARGETS xgrad EXPORT xgradTargets)
install(TARGETS xgrad_tool)
install(FILES ${PROJECT_SOURCE_DIR}/xgrad.hpp ${PROJECT_BINARY_DIR}/headers/version/xgrad/version.hpp
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/xgrad)
# Kernels, file formats and subcommands are nobody's interface.
install(DIRECTORY autograd layers optim data train
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/xgrad
  FILES_MATCHING PATTERN "*.hpp"
  PATTERN "packed_gemm" EXCLUDE
  PATTERN "formats" EXCLUDE
  PATTERN "report" EXCLUDE
  PATTERN "onnx" EXCLUDE
  PATTERN "commands" EXCLUDE)

set(cmake_directory ${CMAKE_INSTALL_LIBDIR}/cmake/xgrad)
install(EXPORT xgradTargets NAMESPACE xgrad:: DESTINATION ${cmake_directory})
configure_package_config_file(cmake/xgradConfig.cmake.in ${PROJECT_BINARY_DIR}/xgradConfig.cmake
  INSTALL_DESTINATION ${cmake_directory})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/xgradConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/xgradConfig.cmake ${PROJECT_BINARY_DIR}/xgradConfigVersion.cmake
  DESTINATION ${cmake_directory})

file(RELATIVE_PATH pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/xgrad.pc.in ${PROJECT_BINARY_DIR}/xgrad.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/xgrad.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
