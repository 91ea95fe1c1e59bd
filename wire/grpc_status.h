/* grpc_status.h: the small texts of gRPC's HTTP/2 mapping: grpc-timeout, grpc-message, "-bin"
 * values, and what an HTTP status means. PURE. */
#ifndef ATOLL_WIRE_GRPC_STATUS_H
#define ATOLL_WIRE_GRPC_STATUS_H

#include "base/arena.h"
#include "base/status.h"

#define AT_GRPC_TIMEOUT_TEXT_BYTES 16
#define AT_GRPC_STATUS_MESSAGE_BYTES_MAX 8192
#define AT_GRPC_STATUS_DETAILS_BYTES_MAX 16384

/* at_grpc_timeout_parse reads "100m": 1-8 digits and one of H M S m u n. INVALID_ARGUMENT
 * otherwise. */
AT_MUST_USE enum at_code at_grpc_timeout_parse(struct at_slice text, uint64_t *ret_ns);

/* at_grpc_timeout_format writes the finest unit that fits eight digits, rounded up so that the
 * peer never gives up first; NUL-terminated. Returns the length. */
size_t at_grpc_timeout_format(uint64_t timeout_ns, char out[AT_GRPC_TIMEOUT_TEXT_BYTES]);

/* at_grpc_status_parse reads the digits of grpc-status; anything else is AT_UNKNOWN. */
enum at_code at_grpc_status_parse(struct at_slice text);

/* at_grpc_status_text: "0".."16", static. */
struct at_slice at_grpc_status_text(enum at_code code);

/* at_grpc_status_from_http: the gRPC code for an answer without grpc-status. */
enum at_code at_grpc_status_from_http(uint32_t http_status);

/* at_grpc_status_from_reset: the gRPC code for RST_STREAM with this HTTP/2 error code. */
enum at_code at_grpc_status_from_reset(uint32_t h2_error);

/* at_grpc_is_bin tells whether a metadata name ends in "-bin". */
bool at_grpc_is_bin(struct at_slice name);

/* at_grpc_is_content_type accepts application/grpc and application/grpc+proto, with parameters. */
bool at_grpc_is_content_type(struct at_slice value);

/* at_grpc_bin_encode gives base64 without padding, at_grpc_bin_decode reads it, padded or not, and
 * joins comma-separated values; malformed text gives INVALID_ARGUMENT. Results in the arena. */
struct at_slice at_grpc_bin_encode(struct at_arena *arena, struct at_slice raw);
AT_MUST_USE enum at_code
at_grpc_bin_decode(struct at_arena *arena, struct at_slice text, struct at_slice *ret_raw);

/* at_grpc_message_encode cuts to AT_GRPC_STATUS_MESSAGE_BYTES_MAX (between characters) and
 * percent-encodes into the arena; at_grpc_message_decode is the way back. */
struct at_slice at_grpc_message_encode(struct at_arena *arena, struct at_slice raw);
struct at_slice at_grpc_message_decode(struct at_arena *arena, struct at_slice text);

#endif
