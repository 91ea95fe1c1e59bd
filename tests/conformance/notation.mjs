// notation.mjs: cells as text, "row family:qualifier@timestamp=value", and back.
//
// Bytes that are not printable ASCII are written \xNN. A timestamp within ten minutes of this
// machine's time is printed as "now"; values of more than 64 bytes as their size.

const CELL = /^(?:(\S*) )?([^ :]*):([^@=]*)(?:@(-?\d+))?(?:=(.*))?$/s;
const VALUE_SHOWN_MAX = 64;
const NOW_MICROS = 600e6;

/** Text to bytes: characters are Latin-1, \xNN is a byte. */
export function bytes(text) {
  if (Buffer.isBuffer(text)) return text;
  const plain = text.replace(/\\x([0-9a-f]{2})/g, (_, hex) => String.fromCharCode(parseInt(hex, 16)));
  return Buffer.from(plain, 'latin1');
}

/** Bytes to text. */
export function text(buffer) {
  if (buffer.length > VALUE_SHOWN_MAX) return `<${buffer.length} bytes>`;
  return buffer.toString('latin1').replace(/[^\x20-\x5b\x5d-\x7e]/g,
    c => `\\x${c.charCodeAt(0).toString(16).padStart(2, '0')}`);
}

/** A big-endian 64-bit value, as `text` prints it. */
export function int64(value) {
  const buffer = Buffer.alloc(8);
  buffer.writeBigInt64BE(BigInt(value));
  return text(buffer);
}

/** Reads "r f:q@1000=v"; the row may be left out, the timestamp is 0 by default. */
export function parseCell(notation) {
  const match = CELL.exec(notation);
  if (!match) throw new Error(`not a cell: ${notation}`);
  const [, row = '', family, qualifier, timestamp = '0', value = ''] = match;
  return {row, family, qualifier: bytes(qualifier), timestamp, value: bytes(value)};
}

export function printCell({row, family, qualifier, timestamp, value, labels = []}) {
  const label = labels.length > 0 ? ` [${labels.join(',')}]` : '';
  return `${text(row)} ${family}:${text(qualifier)}@${printTime(timestamp)}=${text(value)}${label}`;
}

function printTime(micros) {
  return Math.abs(Number(micros) - Date.now() * 1000) < NOW_MICROS ? 'now' : micros;
}

/** The cells of ReadRowsResponses; throws when the chunks break the protocol. */
export function cellsOf(responses) {
  const reader = new Reader();
  for (const {chunks} of responses) chunks.forEach(chunk => reader.take(chunk));
  if (reader.row) throw new Error('the stream ends within a row');
  return reader.cells;
}

class Reader {
  cells = [];
  row = null;
  #lastRow = null;
  #cell = null;
  #parts = null;
  #uncommitted = [];

  take(chunk) {
    if (chunk.row_status === 'reset_row') {
      this.row = this.#cell = this.#parts = null;
      this.#uncommitted = [];
      return;
    }
    if (!this.#parts) this.#begin(chunk);
    this.#parts.push(chunk.value);
    if (chunk.value_size > 0) return; // more of this value follows
    this.#uncommitted.push({...this.#cell, value: Buffer.concat(this.#parts)});
    this.#parts = null;
    if (!chunk.commit_row) return;
    this.cells.push(...this.#uncommitted);
    this.#lastRow = this.row;
    this.row = this.#cell = null;
    this.#uncommitted = [];
  }

  #begin(chunk) {
    if (!this.row) {
      if (chunk.row_key.length === 0) throw new Error('a row begins without its key');
      if (this.#lastRow?.equals(chunk.row_key)) throw new Error('a row comes twice');
      this.row = chunk.row_key;
    }
    const family = chunk.family_name?.value ?? this.#cell?.family;
    const qualifier = chunk.qualifier?.value ?? this.#cell?.qualifier;
    if (family === undefined || qualifier === undefined) throw new Error('a cell lacks its column');
    this.#parts = [];
    this.#cell = {
      row: this.row, family, qualifier, timestamp: chunk.timestamp_micros, labels: chunk.labels,
    };
  }
}
