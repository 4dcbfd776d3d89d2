/** What became of what was sent: the messages without an end, and the balance of a period. */
import { MessagingWebhooksError } from '../errors.ts'
import type { SentDetails } from '../events.ts'
import { isBegun, sentDetails } from '../inbox/expected.ts'
import { isOpen } from '../inbox/latest.ts'
import type { OpenStore, Page, StoredExpectation } from '../inbox/store.ts'
import { createBalance, type Account } from './balance.ts'
import { expectationOf } from './expectation-of.ts'

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
      const balance = createBalance(async (messageKey) => expectationOf(await open(), messageKey))
      let after: string | undefined
      do {
        const page = await step(await open(), { after, limit: A_STEP, fromMs: from.getTime(), toMs: to.getTime() })
        for (const found of page.items) {
          if (balance.isBehind(found)) await balance.catchUp()
          balance.see(found)
        }
        after = page.next
      } while (after !== undefined)
      await balance.catchUp()
      return balance.drawn()
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

/** Of a message that was sent again, its repetition is. */
function isOutstanding(found: StoredExpectation): boolean {
  const { refused, repeated } = found.expectation
  return refused === undefined && repeated === undefined && !isBegun(found.expectation) && isOpen(found.latest)
}

function outstandingOf({ expectation, latest, wasOverdue }: StoredExpectation): OutstandingMessage {
  return {
    ...sentDetails(expectation),
    project: expectation.project,
    lastReport: latest?.record.report?.type,
    wasOverdue,
  }
}
