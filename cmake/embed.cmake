# cmake -D IN=FILE -D OUT=FILE.c -D NAME=symbol -P embed.cmake: the file's bytes as a C array `NAME`, and their number as
# `NAME_size`.
file(READ "${IN}" bytes HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
string(REGEX REPLACE "(................................................................................)" "\\1\n" bytes "${bytes}")
file(WRITE "${OUT}" "#include <stddef.h>\n#include <stdint.h>\nconst uint8_t ${NAME}[] = {\n${bytes}\n};\nconst size_t ${NAME}_size = sizeof(${NAME});\n")
