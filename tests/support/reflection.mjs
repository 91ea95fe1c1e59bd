// reflection.mjs: a client of server reflection, as tools without protos have it.

import {dirname, join, resolve} from 'node:path';
import {fileURLToPath} from 'node:url';
import grpc from '@grpc/grpc-js';
import loader from '@grpc/proto-loader';
import protobuf from 'protobufjs';
import 'protobufjs/ext/descriptor/index.js';

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const {FileDescriptorSet, FileDescriptorProto} = protobuf.descriptor;

/** Asks all `questions` ({list_services: '*'}, ...) on one stream; resolves to the answers in order. */
export async function ask(endpoint, version, questions) {
  const {grpc: {reflection}} = grpc.loadPackageDefinition(loader.loadSync(
    `grpc/reflection/${version}/reflection.proto`,
    {includeDirs: [join(ROOT, 'wire/proto')], keepCase: true, longs: Number, oneofs: true}));
  const client = new reflection[version].ServerReflection(endpoint, grpc.credentials.createInsecure());
  const stream = client.ServerReflectionInfo();
  const answers = [];
  try {
    const left = [...questions];
    stream.write(left.shift());
    for await (const answer of stream) { // each is answered before the next is asked
      answers.push(answer);
      const next = left.shift();
      if (next) stream.write(next);
      else stream.end();
    }
  } finally {
    client.close();
  }
  return answers;
}

/** All that can be called, made from nothing but what the server tells. */
export async function discover(endpoint, version = 'v1') {
  const [{list_services_response: {service}}] = await ask(endpoint, version, [{list_services: '*'}]);
  const services = service.map(({name}) => name);
  const answers = await ask(endpoint, version,
    services.map(name => ({file_containing_symbol: name})));
  const files = new Map();
  for (const {file_descriptor_response: {file_descriptor_proto}} of answers)
    for (const bytes of file_descriptor_proto)
      files.set(FileDescriptorProto.decode(bytes).name, FileDescriptorProto.decode(bytes));
  const set = FileDescriptorSet.encode({file: [...files.values()]}).finish();
  const api = grpc.loadPackageDefinition(
    loader.loadFileDescriptorSetFromBuffer(Buffer.from(set), {longs: Number, oneofs: true, defaults: true}));
  return {services, files: [...files.keys()], api};
}
