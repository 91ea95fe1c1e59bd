// client.mjs: Google's npm client, pointed at a test instance.
//
// The client reads BIGTABLE_EMULATOR_HOST when it is made; a test that talks to several endpoints
// gives each its own client through `clientFor`. Its metrics are off: it would send them to Google
// every minute, and without credentials that ends the process.

import {Bigtable} from '@google-cloud/bigtable';

// Else it looks for Google's machines around it before the first request.
process.env.METADATA_SERVER_DETECTION ??= 'none';

export function clientFor(endpoint, project, options = {}) {
  const before = process.env.BIGTABLE_EMULATOR_HOST;
  process.env.BIGTABLE_EMULATOR_HOST = endpoint;
  try {
    return new Bigtable({projectId: project, metricsEnabled: false, ...options});
  } finally {
    if (before === undefined) delete process.env.BIGTABLE_EMULATOR_HOST;
    else process.env.BIGTABLE_EMULATOR_HOST = before;
  }
}

/** The npm instance object of a test instance, through an app profile (default: "default"). */
export function open(instance, profile, options = {}) {
  const client = clientFor(instance.endpoint, instance.project, {
    ...options,
    ...(profile ? {appProfileId: profile} : {}),
  });
  return client.instance(instance.id);
}
