/** What a store kept, as an event; the command line knows no schemas of the user's and no `subscriptionType`. */
import { systemClock } from '../clock.ts'
import { revive, type Kept } from '../dispatch/revive.ts'
import type { WebhookEvent } from '../events.ts'
import type { Awaitable } from '../inbox/store.ts'

const NO_SCHEMA_TIMEOUT_MS = 1_000

export function eventOf(kept: Kept): Awaitable<WebhookEvent> {
  return revive(kept, {
    clock: systemClock(),
    schemas: {},
    subscriptionType: undefined,
    late: 'separate',
    schemaTimeoutMs: NO_SCHEMA_TIMEOUT_MS,
  })
}
