/** The parts around an inbox, for tests of the inbox alone. */
import type { MessagingWebhooksError, Store } from 'messaging-webhooks'
import { steadyClock, systemClock, type Clock } from '../../src/runtime/clock.ts'
import { trackStoreAvailability, type StoreAvailability } from '../../src/inbox/availability.ts'
import { waitFor } from '../../src/inbox/in-store-time.ts'
import { createInbox } from '../../src/inbox/inbox.ts'
import type { AdmitBatch } from '../../src/inbox/writing.ts'
import { silentLogger } from '../../src/runtime/logger.ts'
import { hostOf } from './stores.ts'

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
    elapsedMs: () => performance.now(),
    host: hostOf(),
    admitBatch: admitOnly,
    localFile: undefined,
    secrets: () => [],
    ...rest,
  })
}

const admitOnly: AdmitBatch = ({ store, events, deadline }) => {
  const answers = store.run(events.map((event) => ({ do: 'admit' as const, key: event.messageKey, event })))
  const admissions = (given: Awaited<typeof answers>) => given.map(({ admission }) => admission)
  return answers instanceof Promise ? waitFor(deadline, answers.then(admissions)) : admissions(answers)
}
