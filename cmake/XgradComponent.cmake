# Makes an object library of a folder, and adds it to the library ${XGRAD_LIBRARY}. The folder sees only the folders in USES.
#
#   xgrad_component(train/export COLD USES autograd layers LINKS fmt::fmt ALSO onnx)
#
# KERNELS and COLD choose the optimisation: see XgradFlags.cmake.
# The sources are the .cpp files of the folder and of the sub-folders in ALSO. Headers are in the same
# folders, and are included as <xgrad/train/export/export.hpp>, in the tree and after installation.
# The include path of a component has links only to its own headers and to the headers of USES, so
# other includes do not compile.
function(xgrad_component folder)
  cmake_parse_arguments(arg "KERNELS;COLD" "" "USES;LINKS;ALSO" ${ARGN})
  string(REPLACE "/" "_" name ${folder})

  set(root ${PROJECT_BINARY_DIR}/headers/${name})
  file(REMOVE_RECURSE ${root})
  set(sources)
  foreach(part ${folder} ${arg_ALSO})
    if(NOT part STREQUAL folder)
      string(PREPEND part ${folder}/)
    endif()
    file(GLOB headers RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${part}/*.hpp)
    file(MAKE_DIRECTORY ${root}/xgrad/${part})
    foreach(header IN LISTS headers)
      file(CREATE_LINK ${PROJECT_SOURCE_DIR}/${header} ${root}/xgrad/${header} SYMBOLIC)
    endforeach()
    file(GLOB found CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${part}/*.cpp)
    list(APPEND sources ${found})
  endforeach()

  add_library(xgrad_${name} OBJECT ${sources})
  target_include_directories(xgrad_${name} PRIVATE ${root})
  foreach(used IN LISTS arg_USES)
    string(REPLACE "/" "_" used ${used})
    target_include_directories(xgrad_${name} PRIVATE ${PROJECT_BINARY_DIR}/headers/${used})
  endforeach()
  target_link_libraries(xgrad_${name} PUBLIC xtensor PRIVATE ${arg_LINKS} xgrad_flags)
  set_target_properties(xgrad_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  if(arg_KERNELS)
    xgrad_kernels(xgrad_${name})
  elseif(arg_COLD)
    xgrad_cold(xgrad_${name})
  endif()
  xgrad_precompiled(xgrad_${name})

  target_link_libraries(${XGRAD_LIBRARY} PRIVATE ${arg_LINKS})
  target_sources(${XGRAD_LIBRARY} PRIVATE $<TARGET_OBJECTS:xgrad_${name}>)
endfunction()

# Makes the library xgrad::NAME of some folders, with their headers and <xgrad/NAME.hpp>:
#
#   xgrad_library(xgrad_engine NAME engine FOLDERS autograd layers optim)
function(xgrad_library target)
  cmake_parse_arguments(arg "" "NAME" "FOLDERS" ${ARGN})
  set(XGRAD_LIBRARY ${target})
  add_library(${target})
  add_library(xgrad::${arg_NAME} ALIAS ${target})
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_compile_options(${target} INTERFACE ${XGRAD_PUBLIC_FLAGS})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${arg_NAME} VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
    BUILD_RPATH_USE_ORIGIN ON)  # a wheel holds the libraries as they are built

  set(public ${PROJECT_BINARY_DIR}/headers/public)
  file(MAKE_DIRECTORY ${public}/xgrad)
  foreach(entry ${arg_FOLDERS} ${arg_NAME}.hpp)
    file(CREATE_LINK ${PROJECT_SOURCE_DIR}/${entry} ${public}/xgrad/${entry} SYMBOLIC)
  endforeach()
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${public}>
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/headers/version> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  foreach(folder ${arg_FOLDERS})
    add_subdirectory(${folder})
  endforeach()
endfunction()
