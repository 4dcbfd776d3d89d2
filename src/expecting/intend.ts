/** `receiver.intend`: a send is written down before it is made, so that what came of it is known, or that nobody knows. */
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { checkOptions, numberFrom, textOf, wholeNumberFrom } from '../check-options.ts'
import { LONGEST_TIMER_MS } from '../clock.ts'
import { defined } from '../defined.ts'
import { MessagingWebhooksError, OptionsError } from '../errors.ts'
import { listedAt, type Expectation } from '../inbox/expected.ts'
import type { OpenStore } from '../inbox/store.ts'
import type { ExpectCounts, IntendOptions, Intention, SentMessages } from '../intention.ts'
import { endBegun } from './begun.ts'
import { expectationOf } from './expectation-of.ts'
import { writeDown, type ExpectPlaces } from './expect.ts'
import { ABOUT_SEND, checkMeta, checkSent, expectationsOf, HOW_KEPT, overdueAt } from './expectations.ts'
import { unknownSendEvent } from './made-events.ts'

const ANSWER_WITHIN_MS = 120_000
const LONGEST_REFERENCE = 256
const MOST_RECIPIENTS = 1_000_000

const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''

const optionsSchema = z.strictObject({
  ...ABOUT_SEND,
  ...HOW_KEPT,
  reference: z
    .custom<string>(
      (value) => isText(value) && value.length <= LONGEST_REFERENCE,
      `expected a text of 1 to ${LONGEST_REFERENCE} characters`,
    )
    .optional(),
  to: z
    .union(
      [textOf('a number'), z.array(textOf('a number')).nonempty()],
      'expected a number as a text, or a list of at least one',
    )
    .optional(),
  recipients: wholeNumberFrom(1, MOST_RECIPIENTS).optional(),
  resendOf: textOf('the id of a message').optional(),
  answerWithinMs: numberFrom(1, LONGEST_TIMER_MS, 'milliseconds').default(ANSWER_WITHIN_MS),
})

interface IntendPlaces extends ExpectPlaces {
  /** An event was admitted. */
  readonly wake: () => void
  /** A send has to have an answer by then; what it returns says that it has one. */
  readonly begun: (answerByMs: number) => () => void
}

type Verbs = Required<Pick<OpenStore<object>, 'expect' | 'admitOverdue' | 'awaitNoMore' | 'forget'>>

function canRecord(store: OpenStore<object>): store is OpenStore<object> & Verbs {
  const { expect, admitOverdue, awaitNoMore, forget } = store
  return [expect, admitOverdue, awaitNoMore, forget].every((verb) => verb !== undefined)
}

export function createIntend(places: IntendPlaces) {
  const { now, keyOf, sendKeyOf, expected, wake } = places

  async function open(): Promise<OpenStore<object> & Verbs> {
    const store = await places.open()
    if (canRecord(store)) return store
    throw new MessagingWebhooksError('expect_unsupported', 'For `intend` it needs `awaitNoMore` and `forget` as well.')
  }

  return async (given?: IntendOptions): Promise<Intention> => {
    const checked = checkOptions(optionsSchema, given, 'intend')
    const { within: withinMs, answerWithinMs, resendOf } = checked
    const project = places.named(checked.project)
    const { reference = resendOf === undefined ? randomUUID() : `resend of ${resendOf}` } = checked
    const meta = checkMeta(checked.meta)
    const messageKey = sendKeyOf(reference, project)
    const previous = resendOf === undefined ? undefined : { resendOf, previousKey: keyOf(resendOf, project) }
    const alone = begunOf({ ...checked, project, reference, meta }, now())
    // Said now, and not when the message is on its way.
    const { sentAtMs, scheduledForMs, channel } = alone
    overdueAt({ sentAtMs, scheduledForMs, channel, withinMs, nowMs: sentAtMs })
    const overdueAtMs = sentAtMs + answerWithinMs
    const store = await open()
    const begun = previous === undefined ? alone : await repetitionOf(store, alone, previous)
    const [isNew] = await store.expect(
      [{ messageKey, sentAtMs: listedAt(begun), overdueAtMs, expectation: { ...begun, overdueAtMs } }],
      now(),
    )
    if (isNew !== true) throw new MessagingWebhooksError('send_repeated')
    const answered = places.begun(overdueAtMs)
    expected(overdueAtMs)

    async function notSent(): Promise<void> {
      // What was written down under it alone: an event that was made of it stays.
      const targets = [{ messageKey, ids: [messageKey] }]
      const opened = await open()
      let after: string | undefined
      do {
        const step = await opened.forget({ targets, dryRun: false, after }, now())
        after = step.next
      } while (after !== undefined)
      answered()
    }

    async function unknown(): Promise<void> {
      const nowMs = now()
      const event = unknownSendEvent({ messageKey, expectation: begun }, nowMs)
      const [isAdmitted] = await (await open()).admitOverdue([event], nowMs)
      if (isAdmitted === true) wake()
      answered()
    }

    async function sent(answer: SentMessages): Promise<ExpectCounts> {
      const entries = expectationsOf(
        checkSent(answer, 'sent'),
        { meta, withinMs, notAfterMs: undefined, project, begun },
        places,
      )
      if (entries.length === 0) {
        await (answer.recipients?.length === 0 ? notSent() : unknown())
        return { expected: 0, known: 0 }
      }
      const opened = await open()
      const counts = await writeDown(opened, entries, places)
      answered()
      await endBegun(opened, [{ messageKey, expectation: begun }], now())
      return counts
    }

    return { reference, sent, notSent, unknown }
  }
}

/** What is kept of a send before it is made. */
function begunOf(send: z.output<typeof optionsSchema> & { readonly reference: string }, sentAtMs: number): Expectation {
  const { reference, to, type, channel, campaign, scheduledFor, meta, notAfter, project } = send
  const [only, ...others] = [to ?? []].flat()
  const recipients = only === undefined ? (send.recipients ?? 1) : 1 + others.length
  return defined({
    sentAtMs: Math.floor(sentAtMs),
    reference,
    recipients,
    project,
    to: recipients === 1 ? only : undefined,
    type,
    channel,
    campaign,
    scheduledForMs: scheduledFor?.getTime(),
    meta,
    notAfterMs: notAfter?.getTime(),
  })
}

/** It stands where the first message of its chain does, so that one look at the list sees all of the chain. */
async function repetitionOf(
  store: OpenStore<object>,
  begun: Expectation,
  { resendOf, previousKey }: { readonly resendOf: string; readonly previousKey: string },
): Promise<Expectation> {
  const previous = (await expectationOf(store, previousKey))?.expectation
  if (previous === undefined)
    throw new OptionsError(
      'intend: nothing is kept of the message that resendOf names; expected one that was expected.',
    )
  const { project, chainKey = previousKey, attempt = 1 } = previous
  const { project: _, ...others } = begun
  return {
    ...others,
    ...defined({ project }),
    listedAtMs: listedAt(previous),
    resendOf,
    previousKey,
    chainKey,
    attempt: attempt + 1,
  }
}
