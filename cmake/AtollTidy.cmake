# The target `tidy` runs clang-tidy (see .clang-tidy) over all hand-written code but the tests;
# `tidy_quick` does so without the path-sensitive checks, which take nine tenths of the time. They
# need no build, except that of the protobuf headers. Not part of `all`.

find_program(RUN_CLANG_TIDY NAMES run-clang-tidy run-clang-tidy-14)

function(atoll_tidy_target name)
  add_custom_target(${name}
    COMMAND ${RUN_CLANG_TIDY} -quiet -j 2 -p "${PROJECT_BINARY_DIR}" ${ARGN}
            # gcc's own warning options mean nothing to clang, and what to warn of is gcc's to say.
            -extra-arg=-Wno-unknown-warning-option -extra-arg=-Wno-error
            "^${PROJECT_SOURCE_DIR}/(base|appprofile|replication|wire|cluster|routing|configs|cli)/"
    COMMENT "clang-tidy"
    VERBATIM)
  add_dependencies(${name} at_proto)
endfunction()

if(RUN_CLANG_TIDY)
  atoll_tidy_target(tidy)
  atoll_tidy_target(tidy_quick "-checks=-clang-analyzer-*")
endif()
