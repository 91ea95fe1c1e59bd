# at_library(NAME [LINK lib...]) makes the static library of the current folder from its .c files
# (not from those of folders below it). at_test and at_fuzz make one program per test file.

function(at_library name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.c" "${CMAKE_CURRENT_SOURCE_DIR}/*.cc")
  list(FILTER sources EXCLUDE REGEX "/main\\.c$")
  if(sources)
    add_library(${name} STATIC ${sources})
    target_compile_options(${name} PRIVATE ${ATOLL_WARNINGS})
    target_include_directories(${name} PUBLIC "${PROJECT_SOURCE_DIR}")
    target_link_libraries(${name} PUBLIC ${ARG_LINK})
  else()
    add_library(${name} INTERFACE)
    target_include_directories(${name} INTERFACE "${PROJECT_SOURCE_DIR}")
    target_link_libraries(${name} INTERFACE ${ARG_LINK})
  endif()
endfunction()

# at_test(FILE LINK lib...): tests/unit/base/test_buf.c becomes the program and test "unit_base_test_buf".
function(at_test file)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  file(RELATIVE_PATH relative "${PROJECT_SOURCE_DIR}/tests" "${file}")
  string(REGEX REPLACE "\\.c$" "" target "${relative}")
  string(REPLACE "/" "_" target "${target}")
  add_executable(${target} "${file}")
  # Most of building the suite is optimising tests for a sanitizer, which they do not need.
  # And gcc does not know that a failed assertion of cmocka does not return.
  target_compile_options(${target} PRIVATE ${ATOLL_WARNINGS} $<$<BOOL:${ATOLL_SANITIZE}>:-O0>
                                           $<$<NOT:$<BOOL:${ATOLL_SANITIZE}>>:-Wno-null-dereference>)
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/tests")
  target_compile_definitions(${target} PRIVATE "ATOLL_SOURCE_DIR=\"${PROJECT_SOURCE_DIR}\"")
  target_link_libraries(${target} PRIVATE ${ARG_LINK} at_test_support cmocka)
  add_test(NAME ${target} COMMAND ${target})
  set_tests_properties(${target} PROPERTIES TIMEOUT 600)
endfunction()

# at_bench(FILE LINK lib...): tests/bench/bench_x.c becomes the program bench_x; ctest does not run it.
function(at_bench file)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  get_filename_component(target "${file}" NAME_WE)
  add_executable(${target} "${file}")
  target_compile_options(${target} PRIVATE ${ATOLL_WARNINGS})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/tests")
  target_link_libraries(${target} PRIVATE ${ARG_LINK})
endfunction()

# at_fuzz(FILE LINK lib...): tests/fuzz/fuzz_x.c with its corpus in tests/fuzz/corpus/x/ becomes the
# program fuzz_x. In the fuzz build it is a libFuzzer; in all others it replays the corpus as a test.
function(at_fuzz file)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  get_filename_component(target "${file}" NAME_WE)
  string(REGEX REPLACE "^fuzz_" "" noun "${target}")
  set(corpus "${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${noun}")
  if(ATOLL_SANITIZE STREQUAL "fuzz")
    add_executable(${target} "${file}")
    target_link_options(${target} PRIVATE -fsanitize=fuzzer)
  else()
    add_executable(${target} "${file}" "${PROJECT_SOURCE_DIR}/tests/fuzz/replay_main.c")
    add_test(NAME ${target} COMMAND ${target} "${corpus}")
    set_tests_properties(${target} PROPERTIES TIMEOUT 600)
  endif()
  target_compile_options(${target} PRIVATE ${ATOLL_WARNINGS})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/tests")
  target_link_libraries(${target} PRIVATE ${ARG_LINK})
endfunction()
