// api.mjs: any method of the public API by bare gRPC: one request, one attempt, the whole answer.
//
// Messages have the field names of the protos. An outcome is {code, message, metadata, messages};
// no call rejects, so that a refusal is a result like any other.

import {existsSync} from 'node:fs';
import {join} from 'node:path';
import grpc from '@grpc/grpc-js';
import loader from '@grpc/proto-loader';
import protobuf from 'protobufjs';
import {ROOT} from '../support/instance.mjs';

const FILES = [
  'google/bigtable/v2/bigtable.proto',
  'google/bigtable/admin/v2/bigtable_table_admin.proto',
  'google/bigtable/admin/v2/bigtable_instance_admin.proto',
  'google/longrunning/operations.proto',
  'grpc/health/v1/health.proto',
  'atoll/v1/control.proto',
];
const ROOTS = [join(ROOT, 'third_party/googleapis'), join(ROOT, 'wire/proto')];
const DEFINITIONS = loader.loadSync(FILES, {
  includeDirs: ROOTS,
  keepCase: true,
  longs: String,
  enums: String,
  bytes: Buffer,
  defaults: true,
  oneofs: true,
});
const ANY_ROOT = new protobuf.Root(); // for what is packed in an Any
ANY_ROOT.resolvePath = (origin, target) =>
  ROOTS.map(root => join(root, target)).find(path => existsSync(path)) ?? protobuf.Root.prototype.resolvePath(origin, target);
ANY_ROOT.loadSync(FILES, {keepCase: true});

/** What is packed in a google.protobuf.Any, as a plain object. */
export function unpack({type_url, value}) {
  const type = ANY_ROOT.lookupType(type_url.split('/').pop());
  return type.toObject(type.decode(value), {longs: String, enums: String, bytes: Buffer, defaults: true, oneofs: true});
}

const CHANNEL = {
  'grpc.enable_retries': 0,
  'grpc.service_config_disable_resolution': 1,
  'grpc.use_local_subchannel_pool': 1,
  'grpc.max_receive_message_length': -1,
  'grpc.max_send_message_length': -1,
};
const DEADLINE_MS = 60000;

/** Every method of the public services: {path, name, requestSerialize, ...}. */
export const METHODS = methodsOf('google.');
/** Those that Atoll's processes ask each other. */
export const CONTROL = methodsOf('atoll.');

function methodsOf(prefix) {
  return Object.entries(DEFINITIONS)
    .filter(([name, service]) => !service.format && name.startsWith(prefix))
    .flatMap(([, service]) => Object.values(service))
    .map(method => ({...method, name: method.path.split('/').pop()}));
}

/** Descriptors of all message types by their full name. */
export const TYPES = new Map(Object.entries(DEFINITIONS)
  .filter(([, definition]) => definition.format)
  .map(([name, definition]) => [name, definition.type]));

const BY_NAME = new Map(METHODS.map(method => [method.name, method]));
for (const method of methodsOf('grpc.health.').concat(CONTROL.filter(({path}) => path.startsWith('/atoll.v1.Cluster/'))))
  BY_NAME.set(method.name, method);

export class Api {
  constructor(endpoint) {
    this.endpoint = endpoint;
    this.client = new grpc.Client(endpoint, grpc.credentials.createInsecure(), CHANNEL);
  }

  close() {
    this.client.close();
  }

  /**
   * `method` is the name of an RPC or one of METHODS; `headers` go into the metadata, `tail` is put
   * behind the bytes of the request (where it may hold fields that the protos do not know).
   */
  call(method, request, options) {
    return collect(this.stream(method, request, options));
  }

  /** The same call as a stream of its messages. */
  stream(method, request, {headers = {}, tail = Buffer.alloc(0)} = {}) {
    const definition = typeof method === 'string' ? BY_NAME.get(method) : method;
    if (!definition) throw new Error(`no method ${method}`);
    const metadata = new grpc.Metadata();
    Object.entries(headers).forEach(([key, value]) => metadata.set(key, value));
    const serialize = message => Buffer.concat([definition.requestSerialize(message), tail]);
    const deadline = Date.now() + DEADLINE_MS;
    return this.client.makeServerStreamRequest(
      definition.path, serialize, definition.responseDeserialize, request, metadata, {deadline});
  }
}

function collect(stream) {
  return new Promise(done => {
    const messages = [];
    let metadata = new grpc.Metadata();
    stream.on('metadata', initial => { metadata = initial; });
    stream.on('data', message => messages.push(message));
    stream.on('error', () => {}); // `status` tells it
    stream.on('status', ({code, details, metadata: trailers}) => {
      metadata.merge(trailers);
      // Messages may still be on their way to `data` when the status is known.
      const finish = () => done({code: grpc.status[code], message: details, metadata, messages});
      if (code !== grpc.status.OK || stream.readableEnded) setImmediate(finish);
      else stream.on('end', finish);
    });
  });
}
