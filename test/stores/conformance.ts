/** Registers the conformance suite with Vitest. */
import { storeConformance, type ConformanceOptions } from 'messaging-webhooks/store-conformance'
import { test } from 'vitest'

/** `only`: the tests to register. Default: all. */
export function conformance({
  only = /^/,
  ...options
}: Omit<ConformanceOptions, 'test' | 'skip'> & { readonly only?: RegExp | undefined }): void {
  storeConformance({
    ...options,
    test(name, run) {
      // A busy machine takes a while to start threads and servers.
      if (only.test(name)) test(name, { timeout: 120_000 }, run)
    },
    skip(name, reason) {
      test.skip(`${name} (${reason})`)
    },
  })
}
