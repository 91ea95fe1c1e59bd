// index.mjs: all cases, in the order in which they are listed.

import admin from './a-admin.mjs';
import writes from './b-writes.mjs';
import reads from './c-reads.mjs';
import filters from './d-filters.mjs';
import collection from './e-collection.mjs';
import storage from './s-storage.mjs';

export default [
  {title: 'Admin and routing', cases: admin},
  {title: 'Writes', cases: writes},
  {title: 'Reads and wire', cases: reads},
  {title: 'Filters', cases: filters},
  {title: 'Garbage collection and durability', cases: collection},
  {title: 'Storage', cases: storage},
];
