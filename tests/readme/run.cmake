# Runs a program twice in an empty folder: it must say that it learned, and what it leaves with the name reverse.h5 must
# verify.
cmake_path(GET PROGRAM FILENAME name)
set(folder ${CMAKE_CURRENT_BINARY_DIR}/${name}_run)
file(REMOVE_RECURSE ${folder})
file(MAKE_DIRECTORY ${folder})
foreach(time IN ITEMS once again)  # the second time, it replaces its checkpoint
  execute_process(COMMAND ${PROGRAM} WORKING_DIRECTORY ${folder} OUTPUT_VARIABLE out COMMAND_ERROR_IS_FATAL ANY)
  message("${out}")
  if(NOT out MATCHES "step ${LAST_STEP}  loss 0\\.0")
    message(FATAL_ERROR "the program did not learn")
  endif()
endforeach()
if(XGRAD)
  execute_process(COMMAND ${XGRAD} verify reverse.h5 WORKING_DIRECTORY ${folder} COMMAND_ERROR_IS_FATAL ANY)
endif()
