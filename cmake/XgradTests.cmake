# How tests are given to CTest. A test passes by its exit code alone: nothing that it prints lets it pass or count as
# skipped, and one that skips a part of itself, ends before its end, or runs nothing, fails. tests/house/honest_test.py plants such tests.

# Python of the system, where Debian's modules are; another one that comes first in PATH does not have them.
# Only the tests need it: a system without it configures, and CTest looks for it when they run.
find_program(XGRAD_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
if(NOT XGRAD_PYTHON)
  set(XGRAD_PYTHON python3)
endif()

# What unittest prints when it skipped a test or found none.
set(XGRAD_UNITTEST_SKIPPED "(^|\n)OK \\(.*skipped=" "(^|\n)Ran 0 tests in ")

# xgrad_python_test(NAME SCRIPT WORDS... [PACKAGE_INDEX] [TIMEOUT SECONDS] [ENVIRONMENT NAME=VALUE...]): a program in
# Python. It exits with 77 where it cannot run at all, which CTest shows as skipped and CI refuses. PACKAGE_INDEX: it needs
# tests/requirements.txt in build/venv, or tests/libraries.txt in build/venv-libraries; ./run leaves it out, and says so,
# where they cannot be installed.
function(xgrad_python_test name script)
  cmake_parse_arguments(arg "PACKAGE_INDEX" "TIMEOUT" "ENVIRONMENT" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  cmake_path(ABSOLUTE_PATH script BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  add_test(NAME ${name} COMMAND ${XGRAD_PYTHON} -B ${script} ${arg_UNPARSED_ARGUMENTS})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT} ENVIRONMENT "${arg_ENVIRONMENT}" SKIP_RETURN_CODE 77
    FAIL_REGULAR_EXPRESSION "${XGRAD_UNITTEST_SKIPPED}")
  if(arg_PACKAGE_INDEX)
    set_tests_properties(${name} PROPERTIES LABELS package-index)
  endif()
endfunction()

# xgrad_gtest(NAME): every test of the GoogleTest program NAME_test as a test NAME.Suite.Test. CTest lists them when it
# starts, so that the program need not be built before.
function(xgrad_gtest name)
  set(include ${CMAKE_CURRENT_BINARY_DIR}/${name}_tests.cmake)
  file(GENERATE OUTPUT ${include} CONTENT
    "set(name ${name})\nset(program [==[$<TARGET_FILE:${name}_test>]==])\ninclude([==[${CMAKE_CURRENT_FUNCTION_LIST_DIR}/discover_tests.cmake]==])\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${include})
endfunction()
