/** What the user's own functions read of a callback. One that throws, or returns what it must not, is reported, and ours counts. */
import { MessagingWebhooksError } from './errors.ts'
import type { DedupeKeyInput, NewEventOptions, ProvenCallback } from './inbox/new-event.ts'
import type { ReportPayload } from './payloads/read-report.ts'
import { usersReport, type ReadUsersReport } from './payloads/users-report.ts'
import { letReject } from './promises.ts'

interface UsersFunctions {
  /** Types say that it returns a text; those who write JavaScript have none. */
  readonly dedupeKey: ((callback: DedupeKeyInput) => unknown) | undefined
  readonly readReport: ReadUsersReport | undefined
  readonly report: (error: MessagingWebhooksError) => void
}

/** Neither function throws; each is undefined where the user has given none. */
export function guardReading(given: UsersFunctions): Pick<NewEventOptions, 'dedupeKey' | 'readReport'> {
  const { dedupeKey, readReport, report } = given

  function chooseKey(choose: (callback: DedupeKeyInput) => unknown, callback: DedupeKeyInput): string | undefined {
    try {
      // A copy: what is stored is not theirs to change.
      const chosen = choose({ ...callback, raw: Buffer.from(callback.raw) })
      if (chosen === undefined || (typeof chosen === 'string' && chosen !== '')) return chosen
      letReject(chosen)
      report(new MessagingWebhooksError('dedupe_key_failed'))
    } catch (error) {
      report(new MessagingWebhooksError('dedupe_key_failed', undefined, { cause: error }))
    }
    return undefined
  }

  function readTheirs(read: ReadUsersReport, { masked, kind, arrivedAtMs }: ProvenCallback): ReportPayload | undefined {
    try {
      return usersReport(read, { masked, kind, nowMs: arrivedAtMs })
    } catch (error) {
      report(new MessagingWebhooksError('read_report_failed', undefined, { cause: error }))
      return undefined
    }
  }

  return {
    dedupeKey: dedupeKey && ((callback) => chooseKey(dedupeKey, callback)),
    readReport: readReport && ((callback) => readTheirs(readReport, callback)),
  }
}
