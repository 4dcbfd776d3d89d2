/** The parts around an inbox, for tests of the inbox alone. */
import type { MessagingWebhooksError, Store } from 'messaging-webhooks'
import { steadyClock, systemClock, type Clock } from '../../src/runtime/clock.ts'
import { trackStoreAvailability, type StoreAvailability } from '../../src/inbox/availability.ts'
import { waitFor } from '../../src/inbox/in-store-time.ts'
import { createInbox, type AdmitBatch } from '../../src/inbox/inbox.ts'
import { silentLogger } from '../../src/runtime/logger.ts'

/** Reports that the store is unavailable, and logs nothing. */
export function quietAvailability(report: (error: MessagingWebhooksError) => void = () => {}): StoreAvailability {
  return trackStoreAvailability({ clock: systemClock(), logger: silentLogger, report })
}

/** An inbox over this store, without a dispatcher. */
export function inboxOver(
  store: Store,
  options: Partial<Omit<Parameters<typeof createInbox>[1], 'clock'>> & { readonly clock?: Clock } = {},
) {
  const { clock = systemClock(), report = () => {}, ...rest } = options
  return createInbox(store, {
    clock: steadyClock(clock),
    storeTimeoutMs: 5_000,
    gapTimeoutMs: 1_000,
    report,
    availability: quietAvailability(report),
    onWork: () => {},
    claims: true,
    admitBatch: admitOnly,
    openSpools: undefined,
    ...rest,
  })
}

const admitOnly: AdmitBatch = ({ store, events, nowMs, deadline }) => {
  const answer = store.admit(events, nowMs)
  return answer instanceof Promise ? waitFor(deadline, answer) : answer
}
