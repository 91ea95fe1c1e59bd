// raw.mjs: Bigtable by bare gRPC: one request, one attempt, on a connection of its own.
//
// Google's clients hide faults by retrying. What is proved here is the server's own fail-over, so
// nothing in this file sends anything twice, and every answer says which cluster gave it.

import {dirname, join, resolve} from 'node:path';
import {fileURLToPath} from 'node:url';
import grpc from '@grpc/grpc-js';
import loader from '@grpc/proto-loader';

export const {status: CODE} = grpc;

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const PROTOS = loader.loadSync(
  [
    'google/bigtable/v2/bigtable.proto',
    'google/bigtable/admin/v2/bigtable_table_admin.proto',
  ],
  {
    includeDirs: [join(ROOT, 'third_party/googleapis')],
    longs: Number,
    enums: String,
    defaults: true,
    oneofs: true,
  },
);
const API = grpc.loadPackageDefinition(PROTOS).google.bigtable;
const CHANNEL = {
  'grpc.enable_retries': 0,
  'grpc.service_config_disable_resolution': 1,
  'grpc.use_local_subchannel_pool': 1,
  'grpc.initial_reconnect_backoff_ms': 50,
  'grpc.max_reconnect_backoff_ms': 200,
  'grpc.max_receive_message_length': -1,
};
const PARAMS_KEY = 'x-goog-ext-425905942-bin';

export class Raw {
  /** `profile` is an app profile's id, '' for the default one. A deadline of 0 is none. */
  constructor(endpoint, {project = 'atoll', instance = 'lab', profile = '', deadlineMs = 60000} = {}) {
    const insecure = grpc.credentials.createInsecure();
    this.data = new API.v2.Bigtable(endpoint, insecure, CHANNEL);
    this.admin = new API.admin.v2.BigtableTableAdmin(endpoint, insecure, CHANNEL);
    this.instanceName = `projects/${project}/instances/${instance}`;
    this.profile = profile;
    this.deadlineMs = deadlineMs;
  }

  /** Resolves once the data connection is made, however long the deadline of requests is. */
  async connected(ms = 30000) {
    await new Promise((done, fail) => {
      this.data.waitForReady(Date.now() + ms, err => (err ? fail(err) : done()));
    });
  }

  close() {
    this.data.close();
    this.admin.close();
  }

  tableName(table) {
    return `${this.instanceName}/tables/${table}`;
  }

  /** One call; resolves to {answer, served}, rejects with the status, which has `served` as well. */
  #unary(client, method, request) {
    return new Promise((done, fail) => {
      let served = null;
      const note = metadata => {
        served = servedBy(metadata) ?? served;
      };
      const call = client[method](request, new grpc.Metadata(), this.#options(), (err, answer) => {
        if (err) {
          note(err.metadata);
          fail(Object.assign(err, {served, method}));
        } else {
          done({answer, served});
        }
      });
      call.on('metadata', note);
    });
  }

  #options() {
    return this.deadlineMs ? {deadline: Date.now() + this.deadlineMs} : {};
  }

  #row(table, key) {
    return {tableName: this.tableName(table), appProfileId: this.profile, rowKey: bytes(key)};
  }

  async mutate(table, key, ...mutations) {
    return await this.#unary(this.data, 'mutateRow', {...this.#row(table, key), mutations});
  }

  /**
   * One MutateRows of [[key, ...mutations], ...]; resolves to {codes, served}, a code per entry, and
   * rejects when the call as a whole failed.
   */
  mutateMany(table, entries) {
    const request = {
      tableName: this.tableName(table), appProfileId: this.profile,
      entries: entries.map(([key, ...mutations]) => ({rowKey: bytes(key), mutations})),
    };
    return new Promise((done, fail) => {
      const codes = new Array(entries.length).fill(null);
      let served = null;
      const call = this.data.mutateRows(request, new grpc.Metadata(), this.#options());
      call.on('metadata', metadata => {
        served = servedBy(metadata);
      });
      call.on('data', answer => answer.entries.forEach(({index, status}) => {
        codes[index] = status?.code ?? 0;
      }));
      call.on('error', err => fail(Object.assign(err, {served, method: 'mutateRows'})));
      call.on('end', () => done({codes, served}));
    });
  }

  /** Adds to a big-endian counter; resolves to {value, served}. */
  async increment(table, key, family, qualifier, amount = 1) {
    const rules = [{familyName: family, columnQualifier: bytes(qualifier), incrementAmount: amount}];
    const {answer, served} = await this.#unary(this.data, 'readModifyWriteRow',
      {...this.#row(table, key), rules});
    const cell = answer.row.families[0].columns[0].cells[0];
    return {value: Number(cell.value.readBigInt64BE()), served};
  }

  /** `cases` are predicateFilter, trueMutations, falseMutations; resolves to {matched, served}. */
  async checkAndMutate(table, key, cases) {
    const {answer, served} = await this.#unary(this.data, 'checkAndMutateRow',
      {...this.#row(table, key), ...cases});
    return {matched: answer.predicateMatched, served};
  }

  /**
   * Reads rows in key order; resolves to {rows, served} with rows of the form
   * {key, cells: [{family, qualifier, timestamp, value}]}. `rest` are fields of ReadRowsRequest.
   */
  read(table, rest = {}) {
    const request = {tableName: this.tableName(table), appProfileId: this.profile, ...rest};
    return new Promise((done, fail) => {
      const reader = new ChunkReader();
      let served = null;
      const call = this.data.readRows(request, new grpc.Metadata(), this.#options());
      call.on('metadata', metadata => {
        served = servedBy(metadata);
      });
      call.on('data', ({chunks}) => chunks.forEach(chunk => reader.take(chunk)));
      call.on('error', err => fail(Object.assign(err, {served, method: 'readRows'})));
      call.on('end', () => done({rows: reader.rows, served}));
    });
  }

  /** The one row, or null; with who served it. */
  async readRow(table, key) {
    const {rows, served} = await this.read(table, {rows: {rowKeys: [bytes(key)]}, rowsLimit: 1});
    return {row: rows[0] ?? null, served};
  }

  async createTable(table, families, {splits = []} = {}) {
    const columnFamilies = Object.fromEntries(families.map(family => [family, {}]));
    await this.#unary(this.admin, 'createTable', {
      parent: this.instanceName,
      tableId: table,
      table: {columnFamilies},
      initialSplits: splits.map(key => ({key: bytes(key)})),
    });
  }

  /** Names, without the instance's. */
  async listTables() {
    const {answer} = await this.#unary(this.admin, 'listTables', {parent: this.instanceName});
    return answer.tables.map(table => table.name.split('/').pop());
  }

  async families(table) {
    const {answer} = await this.#unary(this.admin, 'getTable', {name: this.tableName(table)});
    return Object.keys(answer.columnFamilies).sort();
  }

  async token(table) {
    const {answer} = await this.#unary(this.admin, 'generateConsistencyToken',
      {name: this.tableName(table)});
    return answer.consistencyToken;
  }

  async consistent(table, consistencyToken) {
    const {answer} = await this.#unary(this.admin, 'checkConsistency',
      {name: this.tableName(table), consistencyToken});
    return answer.consistent;
  }
}

export function setCell(family, qualifier, value, timestampMicros = -1) {
  return {
    setCell: {
      familyName: family,
      columnQualifier: bytes(qualifier),
      timestampMicros,
      value: bytes(value),
    },
  };
}

export const deleteRow = {deleteFromRow: {}};

function bytes(text) {
  return Buffer.isBuffer(text) ? text : Buffer.from(text);
}

function servedBy(metadata) {
  const [value] = metadata?.get(PARAMS_KEY) ?? [];
  if (!value) return null;
  const {cluster, zone} = decodeParams(value);
  return cluster ? {cluster, zone} : null;
}

/** ResponseParams has two short texts: zone (field 1) and cluster (field 2). */
function decodeParams(value) {
  const params = {};
  for (let at = 0; at + 1 < value.length; ) {
    const field = value[at] >> 3;
    const text = value.toString('utf8', at + 2, at + 2 + value[at + 1]);
    if (field === 1) params.zone = text;
    if (field === 2) params.cluster = text;
    at += 2 + value[at + 1];
  }
  return params;
}

/** Puts the chunks of a ReadRows stream together (key, family and qualifier stick). */
class ChunkReader {
  rows = [];
  #row = null;
  #cell = null;
  #parts = [];

  take(chunk) {
    if (chunk.rowStatus === 'resetRow') {
      this.#row = this.#cell = null;
      this.#parts = [];
      return;
    }
    this.#row ??= {key: chunk.rowKey.toString('latin1'), cells: []};
    if (this.#parts.length === 0) this.#begin(chunk);
    this.#parts.push(chunk.value);
    if (chunk.valueSize > 0) return; // more of this value follows
    this.#row.cells.push({...this.#cell, value: Buffer.concat(this.#parts)});
    this.#parts = [];
    if (chunk.rowStatus !== 'commitRow') return;
    this.rows.push(this.#row);
    this.#row = this.#cell = null;
  }

  #begin(chunk) {
    this.#cell = {
      family: chunk.familyName?.value ?? this.#cell?.family,
      qualifier: chunk.qualifier ? chunk.qualifier.value.toString('latin1') : this.#cell?.qualifier,
      timestamp: chunk.timestampMicros,
    };
  }
}
