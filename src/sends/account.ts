/** Queries of recorded sends: the messages without a final report, and the account of a period. */
import { z } from 'zod'
import { checkOptions, pageLimit, textOf } from '../runtime/check-options.ts'
import { MessagingWebhooksError } from '../public/errors.ts'
import type { SentDetails } from '../public/events.ts'
import { isBegun, sentDetails } from '../messages/expected.ts'
import { isOpen } from '../inbox/latest.ts'
import type { OpenStore, StorePage, StoredExpectation } from '../inbox/store.ts'
import { createBalance, type SendAccount } from './balance.ts'
import { expectationOf } from './expectation-of.ts'

/** A sent message without a final report. */
export interface OutstandingMessage<M = unknown> extends SentDetails<M> {
  readonly project: string | undefined
  /** The type of its last report. Undefined if there is none. */
  readonly lastReport: string | undefined
  /** A `send.overdue` event exists for it. */
  readonly wasOverdue: boolean
}

/** Options of `outstanding`. */
export interface OutstandingPage {
  /** Only messages sent before this time. Default: all. */
  readonly before?: Date | undefined
  /** The `next` of the previous page. */
  readonly after?: string | undefined
  /** Maximum number of messages per page. Any page may have fewer. Default 100. */
  readonly limit?: number | undefined
}

/** The period of `account`, by the time of sending: `from` is inclusive, `to` exclusive. */
export interface AccountPeriod {
  readonly from: Date
  readonly to: Date
}

const A_PAGE = 100
/** Sends examined per step. */
const A_STEP = 500
const LATEST_MS = Number.MAX_SAFE_INTEGER

const date = z.custom<Date>((value) => value instanceof Date && !Number.isNaN(value.getTime()), 'expected a Date')
const outstandingOptions = z.strictObject({
  before: date.optional(),
  after: textOf('the `next` of a page').optional(),
  limit: pageLimit.optional(),
})

/** A page if awaited; all messages, page by page, if iterated. */
export type Outstanding<M = unknown> = Promise<StorePage<OutstandingMessage<M>>> & AsyncIterable<OutstandingMessage<M>>

export function createAccounts(open: () => Promise<OpenStore<object>>) {
  async function pageOf(asked: OutstandingPage): Promise<StorePage<OutstandingMessage>> {
    checkOptions(outstandingOptions, asked, 'outstanding')
    const { before, after, limit = A_PAGE } = asked
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
  }

  return {
    outstanding(asked: OutstandingPage = {}): Outstanding {
      const first = pageOf(asked)
      async function* all(): AsyncGenerator<OutstandingMessage, void, undefined> {
        let page = await first
        yield* page.items
        while (page.next !== undefined) {
          page = await pageOf({ ...asked, after: page.next })
          yield* page.items
        }
      }
      return Object.assign(first, { [Symbol.asyncIterator]: all })
    },
    async account({ from, to }: AccountPeriod): Promise<SendAccount> {
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
): Promise<StorePage<StoredExpectation>> {
  if (store.expectations === undefined) throw new MessagingWebhooksError('expect_unsupported')
  return store.expectations(page)
}

/** A repeated message is represented by its repetition. */
function isOutstanding(found: StoredExpectation): boolean {
  const { refused, repeated, unreported } = found.expectation
  if (unreported === true) return false
  return refused === undefined && repeated === undefined && !isBegun(found.expectation) && isOpen(found)
}

function outstandingOf({ expectation, latest, wasOverdue }: StoredExpectation): OutstandingMessage {
  return {
    ...sentDetails(expectation),
    project: expectation.project,
    lastReport: latest?.record.report?.type,
    wasOverdue,
  }
}
