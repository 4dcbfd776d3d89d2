/**
 * The emulator with every fault of callbacks and answers on, against an Express app with each store. The app sends with the receiver as
 * its witness, and resends temporary failures. Handlers receive each intact callback once, unchanged and in order, and the account matches
 * the emulator's journal message by message. `MESSAGES` sets the number of messages (`npm run test:soak`: 20,000); the seed is fixed,
 * so that a failure is reproducible. Each store has a server or a file of its own.
 */
import {
  createReceiver,
  RefusedError,
  type SendAccount,
  type OutstandingMessage,
  type Receiver,
} from 'messaging-webhooks'
import type { AccountPeriod } from '../../src/sends/account.ts'
import { createClient } from 'messaging-webhooks/client'
import { createEmulator, FAULT_NAMES, FAULTS, SEND_FAULT_NAMES, TRIGGER_NAMES } from 'messaging-webhooks/emulator'
import { describe, test } from 'vitest'
import { titleWith } from '../support/skipping.ts'
import { accountOf, balanceOf, type Balanced } from './account/balance.ts'
import { postLaterEnds } from './account/later-ends.ts'
import { remember, wrongIn } from './account/overdue.ts'
import { resendFailures } from './account/resending.ts'
import { createSending, TIMEOUT, WITHIN_MS } from './account/sending.ts'
import { serveCallbacks } from './soak/app.ts'
import { SOAKED_STORES } from './soak/stores.ts'
import { handledOf, judge, nameOf, type Handled } from './soak/verdict.ts'

const { MESSAGES } = process.env
const FEW = 600
/** Maximum number of messages in flight at once; after that, everything settles. */
const MAX_AT_ONCE = 2_500
const SEED = 'account'
const RATE = 0.04
const SEND_RATE = 0.05
/** The share of sends with a late answer. Their reports arrive first and wait for it. */
const LATE_RATE = 0.15
/** One in this many messages triggers a callback that belongs to no send. */
const MESSAGES_A_TRIGGER = 20
const DEADLINE_MS = 120_000

async function allOutstanding(receiver: Receiver): Promise<readonly OutstandingMessage[]> {
  const all: OutstandingMessage[] = []
  for (let after: string | undefined, isFirst = true; isFirst || after !== undefined; isFirst = false) {
    const page = await receiver.sends.outstanding({ after, limit: 200 })
    all.push(...page.items)
    after = page.next
  }
  return all
}

/** Each message without a final state: the latest report, and whether it was overdue. */
function openOf(
  messages: readonly Balanced[],
  repetitions: ReadonlyMap<string, string>,
): Readonly<Record<string, string>> {
  const open = messages.filter(
    ({ messageId, refused, isUnreported, ends }) =>
      refused === undefined && !isUnreported && ends.length === 0 && !repetitions.has(messageId),
  )
  return Object.fromEntries(
    open.map(({ messageId, to, reports }) => {
      const word = reports.at(-1)?.word
      const last = word === undefined ? 'none' : `message.${word === 'queued' || word === 'sent' ? word : 'failed'}`
      return [messageId, `${last}, ${to.startsWith(TIMEOUT) ? 'waiting' : 'overdue'}`]
    }),
  )
}

function line(account: SendAccount): string {
  const causes = (counts: Readonly<Record<string, number>>): string =>
    `${Object.values(counts).reduce((sum, count) => sum + count, 0)} (${Object.entries(counts)
      .map(([cause, count]) => `${cause} ${count}`)
      .join(', ')})`
  const { sent, delivered, read, contradictory, failed, overdue, waiting, unreported, unknown, refused } = account
  return `${sent} sent: ${delivered} delivered, ${read} read, ${contradictory} contradictory, ${causes(failed)} failed, ${overdue} overdue, ${waiting} waiting, ${unreported} unreported, ${unknown} unknown, ${causes(refused)} refused`
}

// The short form waits more than it computes.
// Two requests with such a body, signed in two seconds, are two events: no count could be exact.
const SOAKED_FAULTS = FAULT_NAMES.filter((name) => name !== 'noIdentity')

describe('with every fault on', { concurrent: MESSAGES === undefined }, () => {
  for (const { name, missing, open } of SOAKED_STORES) {
    const messages = Number(MESSAGES ?? FEW)
    const reason = process.env['CI'] === 'true' ? undefined : missing()
    const title = titleWith(reason, `${messages} messages: ${name}`)
    test.skipIf(reason !== undefined)(
      title,
      { timeout: 3 * DEADLINE_MS + messages * 60 },
      async ({ expect, onTestFinished }) => {
        const emulator = createEmulator({
          seed: SEED,
          faults: Object.fromEntries(SOAKED_FAULTS.map((fault) => [fault, RATE])),
          sendFaults: {
            ...Object.fromEntries(SEND_FAULT_NAMES.map((fault) => [fault, SEND_RATE])),
            lateAnswer: LATE_RATE,
          },
          network: { delayMs: [0, WITHIN_MS], retryDelayMs: 100 },
          callbackTimeoutMs: DEADLINE_MS,
          keep: 1_000_000,
        })
        onTestFinished(() => emulator.close())
        // Ensures that a previously valid pair exists.
        emulator.rotateKeys()
        const receiver = createReceiver({
          credentials: emulator.keys(),
          networks: { 'carrier-a': 'carrierA', 'carrier-b': 'carrierB' },
          store: await open(onTestFinished),
          logger: false,
          // A busy machine must not make a callback fail.
          bodyTimeoutMs: DEADLINE_MS,
          storeTimeoutMs: DEADLINE_MS,
        })
        const handled = remember(receiver)
        const all: Handled[] = []
        receiver.onAny((event) => {
          if (event.type !== 'send.overdue' && event.type !== 'send.unknown') all.push(handledOf(event))
        })
        let refusals = 0
        receiver.onError((error) => void (refusals += Number(error instanceof RefusedError)))
        const app = await serveCallbacks(receiver, emulator)
        onTestFinished(app.close)
        const { url } = await emulator.listen()
        const options = {
          baseUrl: `${url}/api/v1/messaging`,
          project: 'My Shop',
          apiKey: emulator.keys().apiKey,
          logger: false,
          receiver,
        } as const
        const sending = createSending(createClient(options))
        const { repetitions, failed: unrepeated } = resendFailures(receiver, options)
        /** Numbers of sends that were lost or whose answer was lost: the client cannot know the result. */
        const unknownIn = ({ from, to }: AccountPeriod) => {
          const [unknown, unknownResent] = [sending.failed, unrepeated].map((sends) =>
            sends
              .filter(({ mayBeSent, sentAt = from }) => mayBeSent && sentAt >= from && sentAt < to)
              .reduce((sum, { recipients }) => sum + recipients, 0),
          ) as [number, number] // One for each list.
          return { unknown: unknown + unknownResent, unknownResent }
        }
        /** Handlers resend temporary failures. */
        async function rest(): Promise<void> {
          let sends: number
          do {
            sends = emulator.sends().length
            expect(await emulator.idle({ deadlineMs: DEADLINE_MS })).toBe(true)
            expect(await receiver.drain({ deadlineMs: DEADLINE_MS })).toBe(true)
          } while (emulator.sends().length > sends)
        }
        const balance = (): readonly Balanced[] => balanceOf(emulator.sends(), emulator.deliveries())

        const startedMs = performance.now()
        const from = new Date()
        const ends: Date[] = []
        const atOnce = Math.min(MAX_AT_ONCE, messages / 2)
        for (let left = messages; left > 0; left -= atOnce) {
          for (let due = Math.min(left, atOnce); due > 0; due -= MESSAGES_A_TRIGGER)
            // A unique name makes each one a separate event.
            void emulator.trigger(TRIGGER_NAMES[due % TRIGGER_NAMES.length] ?? 'payment', {
              reference: `trigger ${left - due}`,
            })
          await sending.play(Math.min(left, atOnce))
          await rest()
          ends.push(new Date())
        }
        const unanswered = openOf(balance(), repetitions)
        const isOver = (): boolean => {
          const overdueIds = new Set(handled.overdue.map(({ messageId }) => messageId))
          return Object.entries(unanswered).every(([id, state]) => state.endsWith('waiting') || overdueIds.has(id))
        }
        await expect.poll(isOver, { timeout: DEADLINE_MS, interval: 100 }).toBe(true)

        const period = { from, to: new Date() }
        async function agree(): Promise<void> {
          expect(await receiver.drain({ deadlineMs: DEADLINE_MS })).toBe(true)
          const expected = balance()
          expect(await receiver.sends.account(period)).toEqual(
            accountOf(expected, { ...unknownIn(period), repetitions }),
          )
          const open = (await allOutstanding(receiver)).map(
            ({ messageId, lastReport = 'none', wasOverdue }) =>
              [messageId, `${lastReport}, ${wasOverdue ? 'overdue' : 'waiting'}`] as const,
          )
          expect(Object.fromEntries(open)).toEqual(openOf(expected, repetitions))
          expect(open).toHaveLength(new Set(open.map(([messageId]) => messageId)).size)
          expect(wrongIn(expected, handled, repetitions)).toEqual([])
        }
        await agree()

        const deliveries = emulator.deliveries()
        const wrong = judge(deliveries, all)
        expect(wrong).toEqual({ lost: [], twice: [], changed: [], unasked: [], backwards: [], wronglyLate: [] })
        const intact = deliveries.filter((delivery) => delivery.intact)
        const events = new Set(intact.map(({ payload }) => nameOf(payload))).size
        const { callbacks: sent } = emulator.report()
        expect(app.requests()).toBe(sent.sent)
        expect(refusals).toBe(sent.sent - sent.intact)
        expect(await receiver.stats()).toMatchObject({
          accepted: sent.intact,
          refused: sent.sent - sent.intact,
          duplicates: sent.intact - events,
          late: all.filter(({ late }) => late).length,
          unsettled: 0,
          deadLetters: 0,
        })
        // A delivery without an answer was reset.
        for (const { faults: met } of deliveries.filter((each) => each.sent && each.status === undefined))
          expect(met).toContain('connectionReset')

        const before = handled.overdue.length
        await postLaterEnds(emulator, balance())
        await agree()
        expect(handled.overdue).toHaveLength(before)

        // Each part of the run has its own account.
        const sends = emulator.sends()
        for (const [nth, to] of ends.entries()) {
          const since = ends[nth - 1] ?? from
          const some = sends.filter(({ atMs }) => atMs >= since.getTime() && atMs < to.getTime())
          const part = { from: since, to }
          const expected = accountOf(balanceOf(some, emulator.deliveries()), { ...unknownIn(part), repetitions })
          expect(await receiver.sends.account(part)).toEqual(expected)
        }

        const { sends: counts, callbacks, faults } = emulator.report()
        const account = await receiver.sends.account(period)
        console.log(
          [
            `${name}, ${((performance.now() - startedMs) / 1_000).toFixed(0)} s: ${line(account)}`,
            `  outstanding ${(await allOutstanding(receiver)).length}, overdue at any time ${handled.overdue.length}, ` +
              `resent ${repetitions.size}, reports ${handled.reports.length}, of them ${handled.reports.filter(({ report }) => report.wasOverdue === true).length} after that`,
            `  sends: ${counts.requests} answered, ${SEND_FAULT_NAMES.map((fault) => `${fault} ${counts.faults[fault] ?? 0}`).join(', ')}`,
            `  callbacks: ${callbacks.sent} sent, ${callbacks.intact} intact, ${callbacks.notSent} omitted`,
          ].join('\n'),
        )
        expect(callbacks).toMatchObject({ lost: 0, wronglyAccepted: 0 })
        for (const fault of SOAKED_FAULTS) {
          const { applied, accepted, refused } = faults[fault] ?? { applied: 0, accepted: 0, refused: 0 }
          expect(applied, fault).toBeGreaterThan(0)
          if (FAULTS[fault].accepted === 'no')
            expect({ accepted, refused }, fault).toEqual({ accepted: 0, refused: applied })
        }
        for (const fault of SEND_FAULT_NAMES) expect(counts.faults[fault], fault).toBeGreaterThan(0)
        // A fault hid the sends that the client does not know about; for all others it knows that nothing was sent.
        const { lateAnswer = 0, ...lost } = counts.faults
        expect(lateAnswer).toBeGreaterThan(0)
        const failed = [...sending.failed.filter(({ answer }) => answer === undefined), ...unrepeated]
        const unknown = failed.filter(({ mayBeSent }) => mayBeSent)
        expect(unknown).toHaveLength(Object.values(lost).reduce((sum, count) => sum + count, 0))
        expect(new Set(handled.unknown.map(({ id }) => id)).size).toBe(handled.unknown.length)
        expect(handled.unknown.reduce((sum, { sent }) => sum + sent.recipients, 0)).toBe(
          unknown.reduce((sum, { recipients }) => sum + recipients, 0),
        )
        expect(failed.filter(({ mayBeSent }) => !mayBeSent)).toHaveLength(
          sends.filter(({ refusal, recipients }) => refusal !== undefined && recipients.length === 0).length,
        )
        expect(repetitions.size).toBeGreaterThan(messages / 100)
        for (const count of [account.delivered, account.read, account.overdue, account.waiting, account.unknown])
          expect(count).toBeGreaterThan(0)
        expect(Object.keys(account.refused)).toHaveLength(3)
        expect(Object.keys(account.failed).length).toBeGreaterThan(6)
      },
    )
  }
})
