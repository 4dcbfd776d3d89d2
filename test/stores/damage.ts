/** Corrupts each column of each table behind the store's back, at each stage of an event's life: what the SQL stores share. */
import { storeConformance, type Damage, type ConformanceOptions } from 'messaging-webhooks/store-conformance'
import { test } from 'vitest'

export interface SqlDamage extends Damage {
  /** With placeholders such as `:id` for the values of the event. */
  readonly sql: string
}

/** The largest number of a column of 64 bits. */
export const HUGE = '9223372036854775807'

/** The record of an event of a type that this version does not know. */
export const NEWER_RECORD = JSON.stringify({
  project: 'My Shop',
  kind: 'status',
  timestamp: 1_700_000_001,
  timestampSource: 'carrier',
  receivedAtMs: 0,
  proof: 'both',
  report: { type: 'message.resent', shape: 'sms', messageId: 'damage', channel: 'sms', status: 'damage-1' },
})

/** With FULL=1 each damage at each moment; without, each while its event waits, and every sixth of the others in turn. */
const FULL = process.env['FULL'] === '1'

/** `concurrent`: for a store whose tests spend most of their time waiting for the disk of a server. */
export function testDamages({
  concurrent = false,
  ...options
}: Pick<ConformanceOptions, 'makeStore' | 'damages' | 'capabilities'> & { readonly concurrent?: boolean }): void {
  let turn = 0
  storeConformance({
    ...options,
    test(name, run) {
      if (!name.startsWith('damage: ')) return
      turn += 1
      if (FULL || name.endsWith(', while it waits') || turn % 6 === 0) test(name, { timeout: 120_000, concurrent }, run)
    },
    // The conformance suites run the other tests.
    skip() {},
  })
}
