# Installs headers, libraries, the command, and files for find_package() and pkg-config. The components engine and
# engine-development hold xgrad::engine; runtime and development hold everything else.
include(CMakePackageConfigHelpers)

set(cmake_directory ${CMAKE_INSTALL_LIBDIR}/cmake/xgrad)
file(RELATIVE_PATH pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)

# Installs libraries that belong together, and headers of folders:
# xgrad_install(NAME TARGETS TARGET... RUNTIME COMPONENT DEVELOPMENT COMPONENT HEADERS FOLDER...)
function(xgrad_install name)
  cmake_parse_arguments(arg "" "RUNTIME;DEVELOPMENT" "TARGETS;HEADERS" ${ARGN})
  install(TARGETS ${arg_TARGETS} EXPORT ${name}Targets
    LIBRARY COMPONENT ${arg_RUNTIME} NAMELINK_COMPONENT ${arg_DEVELOPMENT}
    ARCHIVE COMPONENT ${arg_DEVELOPMENT})
  install(EXPORT ${name}Targets NAMESPACE xgrad:: DESTINATION ${cmake_directory} COMPONENT ${arg_DEVELOPMENT})
  # Headers of kernels, file formats and subcommands are internal.
  install(DIRECTORY ${arg_HEADERS}
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/xgrad COMPONENT ${arg_DEVELOPMENT}
    FILES_MATCHING PATTERN "*.hpp"
    PATTERN "kernels" EXCLUDE
    PATTERN "detail" EXCLUDE
    PATTERN "tasks" EXCLUDE
    PATTERN "formats" EXCLUDE
    PATTERN "hdf5" EXCLUDE
    PATTERN "archives" EXCLUDE
    PATTERN "report" EXCLUDE
    PATTERN "sweep/plan.hpp" EXCLUDE
    PATTERN "sweep/processes.hpp" EXCLUDE
    PATTERN "onnx/layers.hpp" EXCLUDE
    PATTERN "history.hpp" EXCLUDE
    PATTERN "seal.hpp" EXCLUDE
    PATTERN "recorder.hpp" EXCLUDE
    PATTERN "tensorboard.hpp" EXCLUDE)

  get_target_property(library_type ${name} TYPE)
  if(library_type STREQUAL "SHARED_LIBRARY")
    target_link_options(${name} PRIVATE LINKER:--version-script=${PROJECT_SOURCE_DIR}/cmake/xgrad.map)
    # A wheel holds the files as they are built: one library finds the other in its own folder.
    set_target_properties(${name} PROPERTIES LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/xgrad.map BUILD_RPATH_USE_ORIGIN ON)
    if(XGRAD_MARCH MATCHES "^x86-64-v[234]$")
      # On processors with these instructions, the loader looks in this folder first.
      install(TARGETS ${name} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/glibc-hwcaps/${XGRAD_MARCH}
        COMPONENT ${arg_RUNTIME}-variant EXCLUDE_FROM_ALL NAMELINK_SKIP)
    endif()
  endif()
endfunction()

# Installs NAME.pc. `private` lists the libraries that users of the static library must link.
function(xgrad_install_pc name component private)
  if(NOT BUILD_SHARED_LIBS)
    set(pc_private ${private})
  endif()
  configure_file(cmake/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT ${component})
endfunction()

xgrad_install(xgrad_engine TARGETS xgrad_engine RUNTIME engine DEVELOPMENT engine-development
  HEADERS autograd layers optim)
install(FILES engine.hpp ${PROJECT_BINARY_DIR}/headers/version/xgrad/version.hpp
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/xgrad COMPONENT engine-development)
xgrad_install_pc(xgrad-engine engine-development "Requires.private: tbb\nLibs.private: -ltbbmalloc\n")

configure_package_config_file(cmake/xgradConfig.cmake.in ${PROJECT_BINARY_DIR}/xgradConfig.cmake
  INSTALL_DESTINATION ${cmake_directory})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/xgradConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/xgradConfig.cmake ${PROJECT_BINARY_DIR}/xgradConfigVersion.cmake
  DESTINATION ${cmake_directory} COMPONENT engine-development)

if(XGRAD_ENGINE_ONLY)
  return()
endif()

xgrad_install(xgrad TARGETS xgrad xgrad_cli RUNTIME runtime DEVELOPMENT development HEADERS text storage data train)
# An exception to the excluded folders, because installed headers include this one.
install(FILES storage/formats/tensors.hpp
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/xgrad/storage/formats COMPONENT development)
install(FILES xgrad.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/xgrad COMPONENT development)
install(FILES cli/command_line.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/xgrad/cli COMPONENT development)
string(CONCAT private "Requires.private: hdf5-serial libcrypto fmt zlib protobuf libpng\n"
  "Libs.private: -lonnx -lonnx_proto -lzip\n")
xgrad_install_pc(xgrad development "${private}")
xgrad_install_pc(xgrad-cli development "")

install(TARGETS xgrad_tool COMPONENT runtime)
install(DIRECTORY configs DESTINATION ${CMAKE_INSTALL_DATADIR}/xgrad COMPONENT runtime)
install(FILES ${PROJECT_BINARY_DIR}/xgrad.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT runtime)
install(FILES ${PROJECT_BINARY_DIR}/xgrad.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
  RENAME xgrad COMPONENT runtime)
