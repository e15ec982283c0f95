# CTest runs this file. It adds the tests of the GoogleTest program `program` as tests `name`.Suite.Test.
#
# CMake's gtest_discover_tests() is not used, because with it a failed test that prints "[  SKIPPED ]" counts as skipped.
execute_process(COMMAND ${program} --gtest_list_tests OUTPUT_VARIABLE listed RESULT_VARIABLE failed ERROR_QUIET)
if(failed)  # for example, it is not built; this test fails and shows why
  add_test(${name}.list ${program} --gtest_list_tests)
  set_tests_properties(${name}.list PROPERTIES TIMEOUT 300)
  return()
endif()

# GoogleTest makes this file when it starts and removes it at the end. So the file remains if a test ended the program, for
# example by exit(0).
set(to_the_end [=[
export TEST_PREMATURE_EXIT_FILE="${TMPDIR:-/tmp}/xgrad-test-$$"
"$@"
code=$?
if [ -e "$TEST_PREMATURE_EXIT_FILE" ]; then
  rm "$TEST_PREMATURE_EXIT_FILE"
  echo "The program ended inside a test, with exit code $code."
  exit 1
fi
exit $code
]=])

string(REGEX REPLACE " +#[^\n]*" "" listed "${listed}")  # types and values of parameters
string(REPLACE "\n" ";" listed "${listed}")
foreach(line IN LISTS listed)
  if(line MATCHES "^([^ ]+)\\.$")
    set(suite ${CMAKE_MATCH_1})
  elseif(line MATCHES "^  ([^ ]+)$")
    set(test ${suite}.${CMAKE_MATCH_1})
    add_test(${name}.${test} sh -c "${to_the_end}" sh ${program} --gtest_filter=${test} --gtest_also_run_disabled_tests)
    set_tests_properties(${name}.${test} PROPERTIES TIMEOUT 300
      FAIL_REGULAR_EXPRESSION "\\[  SKIPPED \\];\\] Running 0 tests")
  endif()
endforeach()
