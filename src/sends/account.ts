/** Queries of recorded sends: the messages without a final report, and the account of a period. */
import { z } from 'zod'
import { checkOptions, pageLimit, textOf, type Given } from '../runtime/check-options.ts'
import type { SentDetails } from '../public/events.ts'
import { isPendingSend, sentDetails } from '../messages/expected.ts'
import { finalsOf } from '../inbox/latest.ts'
import { everyPage } from '../inbox/lists.ts'
import type { MessageStore, Page } from '../inbox/store.ts'
import type { StoredExpectation } from '../messages/views.ts'
import { createBalance, type SendAccount } from './balance.ts'
import { aDate } from './expectations.ts'

/** A sent message without a final report. */
export interface OutstandingMessage<M = unknown> extends SentDetails<M> {
  readonly project: string | undefined
  /** The type of its last report. Undefined if there is none. */
  readonly lastReport: string | undefined
  /** A `send.overdue` event exists for it. */
  readonly wasOverdue: boolean
}

const A_PAGE = 100
const A_STEP = 500
const LATEST_MS = Number.MAX_SAFE_INTEGER

const outstandingOptions = {
  /** Only messages sent before this time. Default: all. */
  before: aDate.optional(),
  /** The `next` of the previous page. */
  after: textOf('the `next` of a page').optional(),
  /** Maximum number of messages per page. Any page may have fewer. Default 100. */
  limit: pageLimit.optional(),
}
const accountPeriod = { from: aDate, to: aDate }
const outstandingSchema = z.strictObject(outstandingOptions)
const accountSchema = z.strictObject(accountPeriod)

/** Options of `outstanding`. */
export interface OutstandingPage extends Given<typeof outstandingOptions> {}

/** The period of `account`, by the time of sending: `from` is inclusive, `to` exclusive. */
export interface AccountPeriod extends Given<typeof accountPeriod> {}

/** A page if awaited; all messages, page by page, if iterated. */
export type Outstanding<M = unknown> = Promise<Page<OutstandingMessage<M>>> & AsyncIterable<OutstandingMessage<M>>

export function createAccounts(open: () => Promise<MessageStore<object>>) {
  async function pageOf(asked: OutstandingPage): Promise<Page<OutstandingMessage>> {
    const { before, after, limit = A_PAGE } = checkOptions(outstandingSchema, asked, 'sends.outstanding')
    const period = { fromMs: 0, toMs: before?.getTime() ?? LATEST_MS }
    for (let place = after; ;) {
      const { items: found, next } = await (await open()).scan({ of: 'sends', after: place, limit, ...period })
      const items = found.filter(isOutstanding).map(outstandingOf)
      if (next === undefined) return { items }
      if (items.length > 0) return { items, next }
      place = next
    }
  }

  return {
    outstanding(asked: OutstandingPage = {}): Outstanding {
      const first = pageOf(asked)
      async function* all(): AsyncGenerator<OutstandingMessage, void, undefined> {
        const pages = everyPage((after) => (after === undefined ? first : pageOf({ ...asked, after })))
        for await (const { items } of pages) yield* items
      }
      return Object.assign(first, { [Symbol.asyncIterator]: all })
    },
    async account(asked: AccountPeriod): Promise<SendAccount> {
      const { from, to } = checkOptions(accountSchema, asked, 'sends.account')
      const balance = createBalance()
      const period = { fromMs: from.getTime(), toMs: to.getTime() }
      const pages = everyPage(async (after) => (await open()).scan({ of: 'sends', after, limit: A_STEP, ...period }))
      for await (const { items } of pages)
        for (const found of items) {
          if (balance.isBehind(found)) balance.countUnanswered()
          balance.see(found)
        }
      balance.countUnanswered()
      return balance.drawn()
    },
  }
}

/** A repeated message is represented by its repetition. */
function isOutstanding(found: StoredExpectation): boolean {
  const { refused, repeatedAtMs, unreported } = found.expectation
  if (unreported === true) return false
  return (
    refused === undefined &&
    repeatedAtMs === undefined &&
    !isPendingSend(found.expectation) &&
    finalsOf(found).length === 0
  )
}

function outstandingOf({ expectation, latest, wasOverdue }: StoredExpectation): OutstandingMessage {
  return {
    ...sentDetails(expectation),
    project: expectation.project,
    lastReport: latest?.record.report?.type,
    wasOverdue,
  }
}
