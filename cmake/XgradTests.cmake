# Adds tests to CTest. Only the exit code lets a test pass; its output cannot make it pass or count as skipped. A test
# fails if it skips a part of itself, ends early or runs nothing. tests/house/honest_test.py checks this with such tests.

# Uses the system's Python, because another Python in PATH lacks Debian's modules. Only the tests need it: CMake
# configures without it, and CTest then looks for it when the tests run.
find_program(XGRAD_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
if(NOT XGRAD_PYTHON)
  set(XGRAD_PYTHON python3)
endif()

# Output of unittest if it skipped a test or found none.
set(XGRAD_UNITTEST_SKIPPED "(^|\n)OK \\(.*skipped=" "(^|\n)Ran 0 tests in ")

# Adds a Python program as a test:
# xgrad_python_test(NAME SCRIPT WORDS... [PACKAGE_INDEX] [TIMEOUT SECONDS] [ENVIRONMENT NAME=VALUE...]). If it cannot run,
# it exits with 77; CTest then shows it as skipped, which CI does not accept. With PACKAGE_INDEX, it needs
# tests/requirements.txt in build/venv, or tests/libraries.txt in build/venv-libraries; if these cannot be installed,
# ./run leaves the test out and says so.
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

# xgrad_gtest(NAME) adds every test of the GoogleTest program NAME_test as a test NAME.Suite.Test. CTest lists the tests
# when it starts, so the program need not be built when CMake configures.
function(xgrad_gtest name)
  set(include ${CMAKE_CURRENT_BINARY_DIR}/${name}_tests.cmake)
  file(GENERATE OUTPUT ${include} CONTENT
    "set(name ${name})\nset(program [==[$<TARGET_FILE:${name}_test>]==])\ninclude([==[${CMAKE_CURRENT_FUNCTION_LIST_DIR}/discover_tests.cmake]==])\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${include})
endfunction()
