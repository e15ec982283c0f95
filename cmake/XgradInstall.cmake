# What `cmake --install` makes: headers, library, tool, and what find_package() and pkg-config read.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

target_include_directories(xgrad PUBLIC $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
set_target_properties(xgrad PROPERTIES VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})

get_target_property(library_type xgrad TYPE)
if(library_type STREQUAL "SHARED_LIBRARY")
  target_link_options(xgrad PRIVATE LINKER:--version-script=${PROJECT_SOURCE_DIR}/cmake/xgrad.map)
  set_target_properties(xgrad PROPERTIES LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/xgrad.map)
  if(XGRAD_MARCH MATCHES "^x86-64-v[234]$")
    # Where the loader looks first on processors that can do more.
    install(TARGETS xgrad LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/glibc-hwcaps/${XGRAD_MARCH}
      COMPONENT variant EXCLUDE_FROM_ALL NAMELINK_SKIP)
  endif()
endif()

install(TARGETS xgrad EXPORT xgradTargets
  LIBRARY COMPONENT runtime NAMELINK_COMPONENT development
  ARCHIVE COMPONENT development)
install(TARGETS xgrad_cli EXPORT xgradTargets ARCHIVE COMPONENT development)
install(TARGETS xgrad_tool COMPONENT runtime)
install(DIRECTORY configs DESTINATION ${CMAKE_INSTALL_DATADIR}/xgrad COMPONENT runtime)

install(FILES ${PROJECT_BINARY_DIR}/xgrad.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT runtime)
install(FILES ${PROJECT_BINARY_DIR}/xgrad.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
  RENAME xgrad COMPONENT runtime)

install(FILES ${PROJECT_SOURCE_DIR}/xgrad.hpp ${PROJECT_BINARY_DIR}/headers/version/xgrad/version.hpp
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/xgrad COMPONENT development)
# Kernels, file formats and subcommands are nobody's interface.
install(DIRECTORY autograd layers optim storage data train
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/xgrad COMPONENT development
  FILES_MATCHING PATTERN "*.hpp"
  PATTERN "kernels" EXCLUDE
  PATTERN "tasks" EXCLUDE
  PATTERN "formats" EXCLUDE
  PATTERN "report" EXCLUDE
  PATTERN "onnx/graph.hpp" EXCLUDE
  PATTERN "onnx/layers.hpp" EXCLUDE
  PATTERN "history.hpp" EXCLUDE
  PATTERN "metrics/groups.hpp" EXCLUDE
  PATTERN "layout.hpp" EXCLUDE
  PATTERN "seal.hpp" EXCLUDE
  PATTERN "event_file.hpp" EXCLUDE
  PATTERN "histogram.hpp" EXCLUDE
  PATTERN "recorder.hpp" EXCLUDE
  PATTERN "tensorboard.hpp" EXCLUDE
  PATTERN "attention_picture.hpp" EXCLUDE)

install(FILES cli/command_line.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/xgrad/cli COMPONENT development)

# ... but for what other headers include.
install(FILES storage/formats/tensors.hpp storage/formats/format_error.hpp storage/formats/whole_file.hpp
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/xgrad/storage/formats COMPONENT development)

set(cmake_directory ${CMAKE_INSTALL_LIBDIR}/cmake/xgrad)
install(EXPORT xgradTargets NAMESPACE xgrad:: DESTINATION ${cmake_directory} COMPONENT development)
configure_package_config_file(cmake/xgradConfig.cmake.in ${PROJECT_BINARY_DIR}/xgradConfig.cmake
  INSTALL_DESTINATION ${cmake_directory})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/xgradConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/xgradConfig.cmake ${PROJECT_BINARY_DIR}/xgradConfigVersion.cmake
  DESTINATION ${cmake_directory} COMPONENT development)

# A shared library knows what it needs, and its users need not have the headers of that.
if(library_type STREQUAL "STATIC_LIBRARY")
  string(CONCAT pc_private "Requires.private: tbb hdf5-serial libcrypto fmt zlib protobuf libpng\n"
    "Libs.private: -ltbbmalloc -lonnx -lonnx_proto -lzip\n")
endif()
file(RELATIVE_PATH pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
foreach(name xgrad xgrad-cli)
  configure_file(cmake/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
endforeach()
install(FILES ${PROJECT_BINARY_DIR}/xgrad.pc ${PROJECT_BINARY_DIR}/xgrad-cli.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
