/** `receiver.sends.expect`: records sent messages, so that reports carry their send, and missing reports are noticed. */
import { z } from 'zod'
import { checkOptions } from '../runtime/check-options.ts'
import { MessagingWebhooksError } from '../public/errors.ts'
import type { MessageStore } from '../inbox/store.ts'
import type { ExpectCounts, SentMessages } from '../public/intention.ts'
import { endPendingSends, findPendingSend } from './pending.ts'
import {
  checkMeta,
  checkSent,
  expectationsOf,
  HOW_KEPT,
  type ExpectOptions,
  type MetaSchema,
  type SendToRecord,
} from './expectations.ts'

const A_BATCH = 500

const optionsSchema = z.strictObject(HOW_KEPT)

/** The parts of the receiver that recording needs. */
export interface ExpectPlaces {
  readonly now: () => number
  readonly keyOf: (messageId: string, project: string | undefined) => string
  /** The project of a send. It may be omitted if there is only one named project. */
  readonly named: (project: string | undefined) => string | undefined
  /** The key of a pending send; with `number`, that of one number of a list. */
  readonly sendKeyOf: (reference: string, project: string | undefined, number?: string) => string
  readonly open: () => Promise<MessageStore<object>>
  readonly metaSchema: MetaSchema
  /** Called after a write: reports may be due now, and the first message becomes overdue at `overdueAtMs`. */
  readonly expected: (overdueAtMs: number) => void
}

export function createExpect(places: ExpectPlaces) {
  return async (sent: SentMessages, options?: ExpectOptions): Promise<ExpectCounts> => {
    const { meta, withinMs, notAfter, project: given } = checkOptions(optionsSchema, options, 'sends.expect')
    const project = places.named(given)
    const checked = checkSent(sent, 'sends.expect')
    const kept = await checkMeta(meta, { call: 'sends.expect', applyTo: places.metaSchema })
    const how = { meta: kept, withinMs, notAfterMs: notAfter?.getTime(), project }
    const alone = expectationsOf(checked, how, places)
    const { reference } = checked
    const store = await places.open()
    if (reference === undefined) return writeDown(store, alone, places)
    const messageKey = places.sendKeyOf(reference, project)
    const pending = await findPendingSend(store, messageKey)
    if (pending === undefined) return writeDown(store, alone, places)
    const counts = await writeDown(store, expectationsOf(checked, { ...how, pending }, places), places)
    await endPendingSends(store, [{ messageKey, expectation: pending }])
    return counts
  }
}

/** Records sends in batches, and announces when they become overdue. */
export async function writeDown(
  store: MessageStore<object>,
  sends: readonly SendToRecord[],
  { now, expected: announce }: Pick<ExpectPlaces, 'now' | 'expected'>,
): Promise<ExpectCounts> {
  const isNew = await writeInBatches(store, sends, now, (some) =>
    announce(Math.min(...some.map(({ overdueAtMs = Infinity }) => overdueAtMs))),
  )
  const expected = isNew.filter(Boolean).length
  return { expected, known: sends.length - expected }
}

/** Returns for each send whether it is new. Throws `store_full` at the limit of the store. */
export async function writeInBatches(
  store: MessageStore<object>,
  sends: readonly SendToRecord[],
  now: () => number,
  written: (some: readonly SendToRecord[]) => void = () => {},
): Promise<readonly boolean[]> {
  const isNew: boolean[] = []
  for (let from = 0; from < sends.length; from += A_BATCH) {
    const some = sends.slice(from, from + A_BATCH)
    const nowMs = now()
    const answers = await store.run(
      some.map(({ messageKey: key, expectation, sentAtMs, overdueAtMs }) => {
        const overdueInMs = overdueAtMs === undefined ? undefined : overdueAtMs - nowMs
        return { do: 'expect' as const, key, send: { expectation, sentAtMs, overdueInMs } }
      }),
    )
    if (answers.includes('full')) throw new MessagingWebhooksError('store_full', 'It expects too many messages.')
    isNew.push(...answers.map((answer) => answer === 'new'))
    written(some)
  }
  return isNew
}

/**
 * Knows whether a send of this process awaits its answer. Its reports may arrive before the answer, so reports of unknown messages
 * wait meanwhile.
 */
export function createPendingWatch() {
  let pending = 0
  let untilMs = -Infinity
  return {
    isPending: (nowMs: number): boolean => nowMs < untilMs,
    /** Announces a pending send with the deadline of its answer. Call the returned function after the answer, at least once. */
    awaitAnswer(answerByMs: number): () => void {
      let hasEnded = false
      pending += 1
      untilMs = Math.max(untilMs, answerByMs)
      return () => {
        if (hasEnded) return
        hasEnded = true
        pending -= 1
        if (pending === 0) untilMs = -Infinity
      }
    },
  }
}
