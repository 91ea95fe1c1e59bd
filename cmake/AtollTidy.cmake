# The target `tidy` runs clang-tidy (see .clang-tidy) over all hand-written code but the tests. It
# needs no build, except that of the protobuf headers. Not part of `all`.

find_program(RUN_CLANG_TIDY NAMES run-clang-tidy run-clang-tidy-14)
if(RUN_CLANG_TIDY)
  add_custom_target(tidy
    COMMAND ${RUN_CLANG_TIDY} -quiet -j 2 -p "${PROJECT_BINARY_DIR}"
            # gcc's own warning options mean nothing to clang.
            -extra-arg=-Wno-unknown-warning-option
            "^${PROJECT_SOURCE_DIR}/(base|appprofile|replication|wire|cluster|routing|configs|cli)/"
    COMMENT "clang-tidy"
    VERBATIM)
  add_dependencies(tidy at_proto)
endif()
