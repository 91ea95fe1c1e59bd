# Compiler flags of all hand-written code, and the sanitizer of the build.

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

set(ATOLL_SANITIZE "" CACHE STRING "address, thread or fuzz; empty for none")

add_compile_definitions(_GNU_SOURCE)
if(ATOLL_SANITIZE STREQUAL "address")
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
elseif(ATOLL_SANITIZE STREQUAL "thread")
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer)
  add_link_options(-fsanitize=thread)
elseif(ATOLL_SANITIZE STREQUAL "fuzz")
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined)
  add_link_options(-fsanitize=address,undefined)
endif()

# Hundreds of test programs are linked in these builds: most of the time, with the default linker.
if(ATOLL_SANITIZE)
  add_link_options(-fuse-ld=gold)
endif()

set(ATOLL_WARNINGS
  -Wall -Wextra -Wpedantic -Werror -Wshadow -Wconversion -Wvla -Wswitch-enum -Wformat=2
  -Wcast-qual -Wwrite-strings -Wundef -Wnull-dereference -fno-common
  $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes>
  $<$<COMPILE_LANGUAGE:C>:-Wmissing-prototypes>
  $<$<AND:$<COMPILE_LANGUAGE:C>,$<C_COMPILER_ID:GNU>>:-Wimplicit-fallthrough=5>
  # clang judges what the macros of protobuf-c and AT_ASSERT(!"text") become; gcc does not.
  "$<$<COMPILE_LANG_AND_ID:C,Clang>:-Wno-cast-qual;-Wno-switch-enum;-Wno-string-conversion>"
  # With sanitizers or without optimisation gcc 12 reports null dereferences that are none.
  $<$<NOT:$<STREQUAL:${ATOLL_SANITIZE},>>:-Wno-null-dereference>)
