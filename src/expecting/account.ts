/** What became of what was sent: the messages without an end, and the balance of a period. */
import { MessagingWebhooksError } from '../errors.ts'
import type { FailureCause, SentDetails } from '../events.ts'
import { sentDetails } from '../inbox/expected.ts'
import { failureOf } from '../inbox/record.ts'
import type { OpenStore, Page, StoredExpectation } from '../inbox/store.ts'

/** A message that was sent, and of which no end was reported. */
export interface OutstandingMessage extends SentDetails {
  readonly project: string | undefined
  /** The type of its last report; undefined where none came. */
  readonly lastReport: string | undefined
  /** `message.overdue` was made of it. */
  readonly wasOverdue: boolean
}

/** What `outstanding` takes. */
export interface OutstandingPage {
  /** Those that were sent before. Default: all. */
  readonly before?: Date | undefined
  /** The `next` of a page, for the one that follows. */
  readonly after?: string | undefined
  /** Messages a page at most: one that is not the last may have fewer. Default 100. */
  readonly limit?: number | undefined
}

/** Which period `account` is about: by the time of the send, `from` is in it and `to` is not. */
export interface AccountPeriod {
  readonly from: Date
  readonly to: Date
}

/** What became of what was sent in a period: each message is in exactly one of the numbers below `sent`. */
export interface Account {
  /** All of them, those that were refused too. */
  readonly sent: number
  readonly delivered: number
  readonly read: number
  /** Failed, by cause; for now, too, where nothing came since. */
  readonly failed: Readonly<Partial<Record<FailureCause, number>>>
  /** No end was reported in time, nor since. */
  readonly overdue: number
  /** No end was reported, and there is time. */
  readonly waiting: number
  /** Refused in the answer to the send, by cause. */
  readonly refused: Readonly<Partial<Record<FailureCause, number>>>
}

const A_PAGE = 100
/** Looked at in one step. */
const A_STEP = 500
const LATEST_MS = Number.MAX_SAFE_INTEGER

export function createAccounts(open: () => Promise<OpenStore<object>>) {
  return {
    async outstanding({ before, after, limit = A_PAGE }: OutstandingPage = {}): Promise<Page<OutstandingMessage>> {
      const toMs = before?.getTime() ?? LATEST_MS
      let place = after
      for (;;) {
        const page = await step(await open(), { after: place, limit, fromMs: 0, toMs })
        const { next } = page
        const items = page.items.filter(isOutstanding).map(outstandingOf)
        if (next === undefined) return { items }
        if (items.length > 0) return { items, next }
        place = next
      }
    },
    async account({ from, to }: AccountPeriod): Promise<Account> {
      const sum = { sent: 0, delivered: 0, read: 0, overdue: 0, waiting: 0 }
      const failed: Partial<Record<FailureCause, number>> = {}
      const refused: Partial<Record<FailureCause, number>> = {}
      let after: string | undefined
      do {
        const page = await step(await open(), { after, limit: A_STEP, fromMs: from.getTime(), toMs: to.getTime() })
        for (const found of page.items) {
          sum.sent += 1
          const cause = found.expectation.refused
          const failure = failureCauseOf(found)
          if (cause !== undefined) refused[cause] = (refused[cause] ?? 0) + 1
          else if (failure !== undefined) failed[failure] = (failed[failure] ?? 0) + 1
          else sum[stateOf(found)] += 1
        }
        after = page.next
      } while (after !== undefined)
      return { ...sum, failed, refused }
    },
  }
}

async function step(
  store: OpenStore<object>,
  page: Parameters<NonNullable<OpenStore<object>['expectations']>>[0],
): Promise<Page<StoredExpectation>> {
  if (store.expectations === undefined) throw new MessagingWebhooksError('expect_unsupported')
  return store.expectations(page)
}

function isOutstanding({ expectation, latest }: StoredExpectation): boolean {
  if (expectation.refused !== undefined) return false
  return latest === undefined || (latest.finals.length === 0 && latest.record.report?.type !== 'message.read')
}

function outstandingOf({ expectation, latest, wasOverdue }: StoredExpectation): OutstandingMessage {
  return {
    ...sentDetails(expectation),
    project: expectation.project,
    lastReport: latest?.record.report?.type,
    wasOverdue,
  }
}

/** Of several final reports, the parts of a long message perhaps, a success hides no failure. */
function failureCauseOf({ latest }: StoredExpectation): FailureCause | undefined {
  if (latest === undefined) return undefined
  const reports = [...latest.finals, ...(latest.finals.length === 0 ? [latest.record] : [])]
  const last = reports.findLast(({ report }) => report?.type === 'message.failed')?.report
  return last && failureOf(last).cause
}

function stateOf(found: StoredExpectation): 'delivered' | 'read' | 'overdue' | 'waiting' {
  if (isOutstanding(found)) return found.wasOverdue ? 'overdue' : 'waiting'
  return found.latest?.record.report?.type === 'message.read' ? 'read' : 'delivered'
}
