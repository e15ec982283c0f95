# One folder of the house as an object library that sees only the folders it may use.
#
#   xgrad_component(layers USES autograd LINKS TBB::tbb SOURCES linear.cpp ...)
#
# Headers stand beside their sources and are included as <xgrad/layers/linear.hpp>, in the tree and
# after installation. build/headers/<folder>/xgrad/<folder> links to <folder>, and the object library's
# include path holds only its own link and those of USES: an include in a forbidden direction does not
# compile.
function(xgrad_component name)
  cmake_parse_arguments(arg "" "" "USES;LINKS;SOURCES" ${ARGN})

  set(root ${PROJECT_BINARY_DIR}/headers/${name})
  file(MAKE_DIRECTORY ${root}/xgrad)
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/${name} ${root}/xgrad/${name} SYMBOLIC)

  list(TRANSFORM arg_SOURCES PREPEND ${PROJECT_SOURCE_DIR}/${name}/)
  add_library(xgrad_${name} OBJECT ${arg_SOURCES})
  target_include_directories(xgrad_${name} PRIVATE ${root})
  foreach(used IN LISTS arg_USES)
    target_include_directories(xgrad_${name} PRIVATE ${PROJECT_BINARY_DIR}/headers/${used})
  endforeach()
  target_link_libraries(xgrad_${name} PUBLIC xtensor PRIVATE ${arg_LINKS} xgrad_flags)
  set_target_properties(xgrad_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)

  target_link_libraries(xgrad PRIVATE ${arg_LINKS})
  target_sources(xgrad PRIVATE $<TARGET_OBJECTS:xgrad_${name}>)
  target_include_directories(xgrad PUBLIC $<BUILD_INTERFACE:${root}>)
endfunction()
