/** The public methods for sends. Types only. */
import type {
  EachIntention,
  ExpectCounts,
  IntendEachOptions,
  IntendOptions,
  Intention,
  SentMessages,
} from '../public/intention.ts'
import type { AccountPeriod, Outstanding, OutstandingPage } from './account.ts'
import type { SendAccount } from './balance.ts'
import type { ExpectOptions } from './expectations.ts'

/** Recorded sends. `M` is the type of `meta`. */
export interface Sends<M = unknown> {
  /**
   * Records what was sent: reports of these messages get `event.sent`, and a message without an end within `withinMs` causes
   * `send.overdue`. Durable if the store is. Can be repeated: known messages stay unchanged. Rejects with an `OptionsError` for
   * invalid arguments, including a `meta` above 4,096 bytes or refused by `schemas.meta`. Rejects with a
   * `MessagingWebhooksError`: `project_required` if there are several projects, or the error of the store; then call it again.
   * Contract, service.md#delivery-rules: no callback is sent again.
   */
  expect(sent: SentMessages, options?: ExpectOptions<M>): Promise<ExpectCounts>
  /**
   * Records that a send is about to be made, so that its messages are known afterwards. If its outcome stays unknown, the
   * receiver creates `send.unknown` once, after `answerWithinMs` or at the next start. Call it before the request of your own
   * client; the client of `messaging-webhooks/client` calls it if its option `receiver` is set. Do not send if it rejects: with
   * `send_repeated` for a known reference, until the store prunes it (`dedupeDays`), or like `expect`. Contract,
   * service.md#send-a-message: requests have no idempotency key.
   */
  intend(send?: IntendOptions<M>): Promise<Intention>
  /**
   * Records a send for each number of a list, under (project, `reference`, number), in one round trip to the store. The
   * result's `to` leaves out numbers already sent to under this reference, in whatever list or batch. Rejects like `intend`, but never
   * with `send_repeated`.
   */
  intendEach(to: readonly string[], send?: IntendEachOptions<M>): Promise<EachIntention>
  /**
   * The expected messages without an end (delivered, read or failed), in the order of their sends: one page if awaited, all if
   * iterated. Reads every send recorded before. Rejects like `expect`.
   */
  outstanding(page?: OutstandingPage): Outstanding<M>
  /** Counts the outcomes of all sends recorded in a period. Reads every one of them. Rejects like `expect`. */
  account(period: AccountPeriod): Promise<SendAccount>
}
