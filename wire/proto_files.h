/* proto_files.h: looks things up in a serialized google.protobuf.FileDescriptorSet. PURE.
 *
 * Slices that are handed out borrow the set. Malformed bytes are as good as absent. */
#ifndef ATOLL_WIRE_PROTO_FILES_H
#define ATOLL_WIRE_PROTO_FILES_H

#include "base/arena.h"
#include "base/slice.h"

/* at_proto_files_own: the set of all protos that this program was built with. */
struct at_slice at_proto_files_own(void);

/* at_proto_file_named: the serialized FileDescriptorProto of a file, such as
 * "google/bigtable/v2/data.proto"; empty when there is none. */
struct at_slice at_proto_file_named(struct at_slice set, struct at_slice name);

/* at_proto_file_defining: likewise, the file that defines the fully qualified `symbol`: a message,
 * enum, service, extension, or what is in one: a nested type, a field, a oneof, a method, a value
 * (named within its enum). */
struct at_slice at_proto_file_defining(struct at_slice set, struct at_slice symbol);

/* at_proto_has_message: is `symbol` a message? */
bool at_proto_has_message(struct at_slice set, struct at_slice symbol);

/* at_proto_files_needed: the file `file` itself and then all that it imports, and they import, each
 * once. In the arena; returns how many. */
size_t at_proto_files_needed(struct at_slice set,
                             struct at_slice file,
                             struct at_arena *arena,
                             struct at_slice **ret_files);

#endif
