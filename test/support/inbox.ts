/** What an inbox is handed by the parts around it, for tests of it alone. */
import type { MessagingWebhooksError } from 'messaging-webhooks'
import { systemClock } from '../../src/runtime/clock.ts'
import { createAbsence, type Absence } from '../../src/inbox/absence.ts'
import { waitFor } from '../../src/inbox/in-store-time.ts'
import type { AdmitBatch } from '../../src/inbox/inbox.ts'
import { silentLogger } from '../../src/runtime/logger.ts'

/** Reports that the store is away, and logs nothing. */
export function quietAbsence(report: (error: MessagingWebhooksError) => void = () => {}): Absence {
  return createAbsence({ clock: systemClock(), logger: silentLogger, report })
}

/** Nobody runs here what is admitted. */
export const admitOnly: AdmitBatch = ({ store, events, nowMs, patience }) => {
  const answer = store.admit(events, nowMs)
  return answer instanceof Promise ? waitFor(patience, answer) : answer
}
