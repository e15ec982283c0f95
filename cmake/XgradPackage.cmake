# What `cpack` makes of this tree: the Debian packages xgrad (library, command, configs) and xgrad-dev. `./run package`
# builds the trees for it, packs, and tries the packages out (tests/embed/package_test.py).
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "the xgrad authors <xgrad@localhost>")
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)  # names the packages of the libraries, from what is linked
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_XGRAD_PACKAGE_NAME xgrad)
set(CPACK_DEBIAN_XGRAD_PACKAGE_SECTION science)

set(CPACK_DEBIAN_XGRAD-DEV_PACKAGE_NAME xgrad-dev)
set(CPACK_DEBIAN_XGRAD-DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_XGRAD-DEV_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_XGRAD-DEV_PACKAGE_DEPENDS "xgrad (= ${PROJECT_VERSION}), libfmt-dev, libxtensor-dev")

# The library of other trees, for processors that can do more, as CPACK_INSTALL_CMAKE_PROJECTS names them.
set(CPACK_COMPONENTS_ALL runtime development)
set(CPACK_COMPONENTS_VARIANTS variant)
include(CPack)
cpack_add_component(runtime GROUP xgrad)
cpack_add_component(variant GROUP xgrad)
cpack_add_component(development GROUP xgrad-dev)
cpack_add_component_group(xgrad DESCRIPTION "${PROJECT_DESCRIPTION}")
cpack_add_component_group(xgrad-dev DESCRIPTION "${PROJECT_DESCRIPTION}: headers, and what CMake and pkg-config read")
