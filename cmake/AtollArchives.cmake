# Libraries of the data path become part of the program itself where no sanitizer watches: their
# thread-local counters and calls then need no look-up (8 % of a bulk write, 4 % of a forwarded
# call). Sanitizers know them by the names of the shared ones.
#
# at_archive(RET name [needed...]) sets RET to what links lib<name>, and with an archive what that
# needs itself.
function(at_archive ret name)
  set(file "lib${name}.a")
  if(ATOLL_SANITIZE)
    set(file "lib${name}.so")
    set(ARGN "")
  endif()
  find_library(ATOLL_LIB_${name} "${file}" REQUIRED)
  set(${ret} "${ATOLL_LIB_${name}}" ${ARGN} PARENT_SCOPE)
endfunction()
