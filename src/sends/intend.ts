/** `receiver.sends.intend`: records a send before its request, so that an unknown outcome is noticed. */
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { checkOptions, numberFrom, textOf, wholeNumberFrom } from '../runtime/check-options.ts'
import { LONGEST_TIMER_MS } from '../runtime/clock.ts'
import { defined } from '../runtime/values.ts'
import { MessagingWebhooksError, OptionsError } from '../public/errors.ts'
import { listedAt, type Expectation } from '../messages/expected.ts'
import type { MessageStore } from '../inbox/store.ts'
import type {
  EachIntention,
  ExpectCounts,
  IntendEachOptions,
  IntendOptions,
  Intention,
  SentMessages,
} from '../public/intention.ts'
import { endPendingSends, findSend, unknownSendEvent, type RecordedSend } from './pending.ts'
import { admitOverdue } from './sweep.ts'
import { createNumberMatch, distinctNumbers } from '../runtime/recipient-forms.ts'
import { writeDown, writeInBatches, type ExpectPlaces } from './expect.ts'
import { createReferences } from './references.ts'
import {
  ABOUT_SEND,
  checkMeta,
  checkSent,
  expectationsOf,
  HOW_KEPT,
  overdueAt,
  type SendToRecord,
} from './expectations.ts'

const ANSWER_WITHIN_MS = 120_000
const LONGEST_REFERENCE = 256
const MAX_RECIPIENTS = 1_000_000

const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''

const optionsSchema = z.strictObject({
  ...ABOUT_SEND,
  ...HOW_KEPT,
  reference: z
    .custom<string>(
      (value) => isText(value) && value.length <= LONGEST_REFERENCE,
      `expected a string of 1 to ${LONGEST_REFERENCE} characters`,
    )
    .optional(),
  to: z
    .union(
      [textOf('a number'), z.array(textOf('a number')).nonempty('expected a list of at least one number')],
      'expected a phone number as a string, or a list of at least one',
    )
    .optional(),
  recipients: wholeNumberFrom(1, MAX_RECIPIENTS).optional(),
  premium: z.boolean().optional(),
  resendOf: textOf('the id of a message').optional(),
  answerWithinMs: numberFrom(1, LONGEST_TIMER_MS, 'milliseconds').default(ANSWER_WITHIN_MS),
})

const eachSchema = optionsSchema.omit({ to: true, recipients: true, resendOf: true })

interface IntendPlaces extends ExpectPlaces {
  /** Whether the option `readReport` is set. */
  readonly readsReports: boolean
  /** Called after an event was admitted. */
  readonly wake: () => void
  /** Announces a pending send with the deadline of its answer. Call the returned function after the answer. */
  readonly awaitAnswer: (answerByMs: number) => () => void
}

type Answer = ReturnType<typeof checkSent>

/** Pending sends, and how an answer is divided among them. */
interface Pending {
  readonly sends: readonly RecordedSend[]
  readonly partsOf: (answer: Answer) => readonly (readonly [RecordedSend, Answer])[]
  readonly meta: unknown
  readonly project: string | undefined
  readonly answerByMs: number
}

export function createIntend(places: IntendPlaces): {
  readonly intend: (send?: IntendOptions) => Promise<Intention>
  readonly intendEach: (to: readonly string[], send?: IntendEachOptions) => Promise<EachIntention>
} {
  const { now, open, keyOf, expected, wake } = places
  const references = createReferences(places)

  async function checked(given: IntendOptions | undefined, call: string) {
    const options = checkOptions(optionsSchema, given, call)
    const project = places.named(options.project)
    const sentAtMs = Math.floor(now())
    // Check the times now, before the message is sent.
    const { channel, withinMs, scheduledFor } = options
    overdueAt({ sentAtMs, scheduledForMs: scheduledFor?.getTime(), channel, withinMs, nowMs: sentAtMs })
    const unreported = options.premium === true && !places.readsReports ? (true as const) : undefined
    const meta = await checkMeta(options.meta, { call, applyTo: places.metaSchema })
    return { ...options, meta, project, sentAtMs, unreported, answerByMs: sentAtMs + options.answerWithinMs }
  }

  /** Returns for each send whether it is new. */
  function begin(
    store: MessageStore<object>,
    sends: readonly RecordedSend[],
    overdueAtMs: number,
  ): Promise<readonly boolean[]> {
    const entries = sends.map(({ messageKey, expectation }) => {
      return {
        messageKey,
        sentAtMs: listedAt(expectation),
        overdueAtMs,
        expectation: { ...expectation, overdueAtMs },
      }
    })
    return writeInBatches(store, entries, now)
  }

  function callsFor({ sends, partsOf, meta, project, answerByMs }: Pending): Omit<Intention, 'reference'> {
    const stopAwaiting = sends.length === 0 ? () => {} : places.awaitAnswer(answerByMs)
    expected(answerByMs)

    /** An event that was created for the send stays. */
    async function release(some: readonly RecordedSend[]): Promise<void> {
      const store = await open()
      await store.run(some.map(({ messageKey: key }) => ({ do: 'endSend' as const, key })))
    }

    async function say(unknown: readonly RecordedSend[]): Promise<void> {
      const nowMs = now()
      const store = await open()
      const events = unknown.map((each) => unknownSendEvent(each, nowMs))
      const admitted = await admitOverdue(store, events)
      if (admitted.includes(true)) wake()
    }

    async function sent(answer: SentMessages): Promise<ExpectCounts> {
      const entries: SendToRecord[] = []
      const ended: RecordedSend[] = []
      const released: RecordedSend[] = []
      const unknown: RecordedSend[] = []
      for (const [send, part] of partsOf(checkSent(answer, 'sent'))) {
        const how = { meta, withinMs: undefined, notAfterMs: undefined, project, pending: send.expectation }
        const found = expectationsOf(part, how, places)
        entries.push(...found)
        if (found.length === 0) (part.recipients?.length === 0 ? released : unknown).push(send)
        // If the whole send was refused, nothing was sent, so its reference may be used again.
        else (found.some(({ expectation }) => expectation.refused === undefined) ? ended : released).push(send)
      }
      const store = await open()
      const counts = await writeDown(store, entries, places)
      stopAwaiting()
      if (ended.length > 0) await endPendingSends(store, ended)
      if (released.length > 0) await release(released)
      if (unknown.length > 0) await say(unknown)
      return counts
    }

    return {
      sent,
      async notSent() {
        await release(sends)
        stopAwaiting()
      },
      async unknown() {
        await say(sends)
        stopAwaiting()
      },
    }
  }

  return {
    async intend(given) {
      const options = await checked(given, 'sends.intend')
      const { resendOf, project } = options
      const { reference = resendOf === undefined ? randomUUID() : `resend of ${resendOf}` } = options
      const { messageKey, digest, withoutRefused } = references(reference, project)
      const to = options.to === undefined ? undefined : distinctNumbers([options.to].flat())
      const alone = defined({ ...pendingSendOf({ ...options, to, reference }), numbers: to?.map(digest) })
      const store = await open()
      const expectation =
        resendOf === undefined
          ? alone
          : await repetitionOf(store, alone, { resendOf, previousKey: keyOf(resendOf, project) })
      const send = { messageKey, expectation }
      const [isNew] = await begin(store, [send], options.answerByMs)
      if (isNew !== true) throw new MessagingWebhooksError('send_repeated')
      const partsOf: Pending['partsOf'] = (answer) => {
        const asked = to === undefined ? answer : asAsked(answer, to)
        return [[withoutRefused(send, asked), asked]]
      }
      return { reference, ...callsFor({ ...options, sends: [send], partsOf }) }
    },
    async intendEach(to, given) {
      const options = await checked({ ...checkOptions(eachSchema, given, 'sends.intendEach'), to }, 'sends.intendEach')
      const { reference = randomUUID(), project } = options
      const { keyOf, claimForLists } = references(reference, project)
      const store = await open()
      const isTaken = await claimForLists(store)
      const numbers = distinctNumbers(to).filter((number) => !isTaken(number))
      const each = numbers.map((number): RecordedSend & { readonly number: string } => {
        const messageKey = keyOf(number)
        const pending = pendingSendOf({ ...options, to: number, reference })
        return { number, messageKey, expectation: { ...pending, sendKey: messageKey } }
      })
      const isNew = await begin(store, each, options.answerByMs)
      const sends = each.filter((_, index) => isNew[index] === true)
      return {
        reference,
        to: sends.map(({ number }) => number),
        ...callsFor({ ...options, sends, partsOf: (answer) => partsByNumber(sends, answer) }),
      }
    },
  }
}

/**
 * Divides an answer among the numbers. A number without an entry is unknown. With an empty list of recipients, nothing was
 * sent to any number.
 */
function partsByNumber<S extends RecordedSend & { readonly number: string }>(
  sends: readonly S[],
  answer: Answer,
): readonly (readonly [S, Answer])[] {
  const { messages, recipients } = asAsked(
    answer,
    sends.map(({ number }) => number),
  )
  const messagesTo = Map.groupBy(messages, ({ to }) => to)
  const recipientsOf = Map.groupBy(recipients ?? [], ({ to }) => to)
  const hasNoRecipients = recipients?.length === 0
  return sends.map((send) => {
    const { number } = send
    const found = { messages: messagesTo.get(number) ?? [], recipients: recipientsOf.get(number) }
    return [send, { ...answer, ...found, ...(hasNoRecipients && { recipients: [] }) }]
  })
}

/** The answer with each number as it was asked for, so that erasure and searches find it. */
function asAsked(answer: Answer, numbers: readonly string[]): Answer {
  const match = createNumberMatch(numbers)
  const named = <T extends { readonly to?: string | undefined }>(entry: T): T => ({
    ...entry,
    to: match(entry.to) ?? entry.to,
  })
  const { messages, recipients } = answer
  return { ...answer, messages: messages.map(named), recipients: recipients?.map(named) }
}

function pendingSendOf(
  send: Omit<z.output<typeof optionsSchema>, 'to'> & {
    readonly to: string | readonly string[] | undefined
    readonly reference: string
    readonly sentAtMs: number
    readonly unreported: true | undefined
  },
): Expectation {
  const { reference, to, from, type, channel, campaign, scheduledFor, meta, notAfter, withinMs, project, sentAtMs } =
    send
  const [only, ...others] = [to ?? []].flat()
  const recipients = only === undefined ? (send.recipients ?? 1) : 1 + others.length
  return defined({
    sentAtMs,
    reference,
    recipients,
    project,
    to: recipients === 1 ? only : undefined,
    from,
    type,
    channel,
    campaign,
    scheduledForMs: scheduledFor?.getTime(),
    meta,
    notAfterMs: notAfter?.getTime(),
    withinMs,
    unreported: send.unreported,
  })
}

async function repetitionOf(
  store: MessageStore<object>,
  pending: Expectation,
  { resendOf, previousKey }: { readonly resendOf: string; readonly previousKey: string },
): Promise<Expectation> {
  const previous = (await findSend(store, previousKey))?.expectation
  if (previous === undefined)
    throw new OptionsError(
      'sends.intend: no send is recorded for the message that resendOf names. Pass the id of a message recorded with sends.expect.',
    )
  const { project, attempt = 1 } = previous
  const { project: _, ...others } = pending
  return {
    ...others,
    ...defined({ project }),
    resendOf,
    previousKey,
    attempt: attempt + 1,
  }
}
