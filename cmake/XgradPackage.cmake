# `cpack` makes the Debian packages xgrad-engine and xgrad-engine-dev (the engine), xgrad (library, command, configs) and
# xgrad-dev. `./run package` builds the trees, runs cpack, and tests the packages (tests/embed/package_test.py).
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "the xgrad authors <xgrad@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # each package has its own
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)  # finds the packages of the linked libraries
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR})  # except the engine, which is in another package of this tree
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
include(CPackComponent)

# The licence of xgrad, and those of the libraries whose headers are compiled in, as tests/embed/licences.py names them.
file(READ LICENSE copyright)
foreach(package libcli11-dev libtomlplusplus-dev libxtensor-dev nlohmann-json3-dev xtl-dev)
  if(EXISTS /usr/share/doc/${package}/copyright)
    file(READ /usr/share/doc/${package}/copyright text)
    string(APPEND copyright "\n\n${package}:\n\n${text}")
  endif()
endforeach()
file(WRITE ${PROJECT_BINARY_DIR}/copyright "${copyright}")

# Makes a package of some components: xgrad_package(NAME SECTION DEPENDS DESCRIPTION COMPONENT...)
macro(xgrad_package name section depends description)
  string(TOUPPER ${name} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name})
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section})
  set(CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS "${depends}")
  set(CPACK_DEBIAN_${upper}_DESCRIPTION "${description}")
  if(${name} MATCHES "-dev$")
    set(CPACK_DEBIAN_${upper}_PACKAGE_SHLIBDEPS OFF)
  endif()
  foreach(component ${ARGN})
    cpack_add_component(${component} GROUP ${name})
    install(FILES ${PROJECT_BINARY_DIR}/copyright DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${name}
      COMPONENT ${component} EXCLUDE_FROM_ALL)
  endforeach()
  cpack_add_component_group(${name})
endmacro()

set(same "(= ${PROJECT_VERSION})")
set(engine "Reverse-mode autograd on xtensor, with layers and optimizers")
xgrad_package(xgrad-engine science "" "${engine}" engine engine-variant)
xgrad_package(xgrad-engine-dev libdevel "xgrad-engine ${same}, libxtensor-dev"
  "${engine}: headers, and what CMake and pkg-config read" engine-development)
# xgrad loads LAPACK at run time, so cpack does not find it.
xgrad_package(xgrad science "xgrad-engine ${same}, liblapack3 | liblapack.so.3" "${PROJECT_DESCRIPTION}"
  runtime runtime-variant)
xgrad_package(xgrad-dev libdevel "xgrad ${same}, xgrad-engine-dev ${same}, libfmt-dev"
  "${PROJECT_DESCRIPTION}: headers, and what CMake and pkg-config read" development)

# The -variant components are libraries for newer processors, from other build trees (CPACK_INSTALL_CMAKE_PROJECTS).
set(CPACK_COMPONENTS_ALL engine engine-development runtime development)
set(CPACK_COMPONENTS_VARIANTS engine-variant runtime-variant)
include(CPack)
