/* escape.h: bytes as text and back: percent, base64, hex, quoted. PURE. */
#ifndef ATOLL_BASE_ESCAPE_H
#define ATOLL_BASE_ESCAPE_H

#include "base/buf.h"

/* at_escape_percent appends `s` as the gRPC spec writes grpc-message: bytes outside 0x20-0x7e and
 * '%' become %XX; so does a space at either end, where HTTP/2 forbids one in a header's value.
 * RESOURCE_EXHAUSTED from the buffer. */
AT_MUST_USE enum at_code at_escape_percent(struct at_buf *out, struct at_slice s);

/* at_unescape_percent appends the decoded bytes; what is no valid escape is copied as it is. */
AT_MUST_USE enum at_code at_unescape_percent(struct at_buf *out, struct at_slice s);

/* at_escape_base64 appends standard base64; `url` picks the URL alphabet; `pad` adds '='. */
AT_MUST_USE enum at_code
at_escape_base64(struct at_buf *out, struct at_slice s, bool url, bool pad);

/* at_unescape_base64 accepts both alphabets, padded or not. INVALID_ARGUMENT on anything else. */
AT_MUST_USE enum at_code at_unescape_base64(struct at_buf *out, struct at_slice s);

/* at_escape_quoted appends a double-quoted, Go-like (%q) rendering for messages and for cbt. */
AT_MUST_USE enum at_code at_escape_quoted(struct at_buf *out, struct at_slice s);

/* at_utf8_valid tells whether the bytes are well-formed UTF-8 (no surrogates, no overlong). */
bool at_utf8_valid(struct at_slice s);

#endif
