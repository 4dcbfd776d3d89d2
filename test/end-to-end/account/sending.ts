/** What an app sends with the receiver as its witness: on every channel, in parts, scheduled, in batches, refused. */
import { SendError, type Client, type Sent } from 'messaging-webhooks/client'
import { OUTCOMES, type Channel } from 'messaging-webhooks/emulator'

/** How long a final state may take, except for recipients with a one-day limit. Each step of a message may take this long, so only some finish in time. */
export const WITHIN_MS = 2_000
const A_DAY_MS = 86_400_000
/** The number prefix of recipients with a one-day limit: the journal shows the recipient of a send. */
export const TIMEOUT = '2548'

const RECIPIENTS_A_SEND = 12
const SENDS_AT_ONCE = 6
const PLANNED_AHEAD_MS = 1_500
const TEXT = 'Your order is on its way.'
const TWO_PARTS = TEXT.repeat(8)

interface Recorded {
  readonly withinMs: number
  readonly meta: unknown
}

interface KindOfSend {
  readonly channel: Channel
  readonly withinMs: number
  readonly prefix: string
  readonly recipients: number
  /** Resolves with the failures. */
  readonly send: (sends: Client, to: readonly string[], recorded: Recorded) => Promise<readonly SendError[]>
}

const SMS = { channel: 'sms', withinMs: WITHIN_MS, prefix: '2547', recipients: RECIPIENTS_A_SEND } as const

/** The kinds alternate. */
const KINDS: readonly KindOfSend[] = [
  { ...SMS, send: (sends, to, recorded) => one(sends.send({ to, message: TEXT, campaign: 'spring', ...recorded })) },
  {
    ...SMS,
    channel: 'chat-app',
    send: (sends, to, recorded) => one(sends.send({ to, message: TEXT, channel: 'chat-app', ...recorded })),
  },
  { ...SMS, send: (sends, to, recorded) => one(sends.send({ to, message: TEXT, scheduledFor: soon(), ...recorded })) },
  {
    ...SMS,
    channel: 'airtime',
    send: (sends, to, recorded) => one(sends.airtime({ to, extra: { amount: 1 }, ...recorded })),
  },
  { ...SMS, send: (sends, to, recorded) => one(sends.send({ to, message: TWO_PARTS, ...recorded })) },
  { ...SMS, send: (sends, to, recorded) => one(sends.otp({ to, message: '1234 is your code.', ...recorded })) },
  { ...SMS, channel: 'premium', send: (sends, to, recorded) => one(sends.premium({ to, message: TEXT, ...recorded })) },
  { ...SMS, send: (sends, to, recorded) => one(sends.send({ to: withRefused(to), message: TEXT, ...recorded })) },
  { ...SMS, withinMs: A_DAY_MS, prefix: TIMEOUT, send: inBatches },
  // The service refuses all of it: with recipients, and without.
  {
    ...SMS,
    recipients: 1,
    send: (sends, _, recorded) => one(sends.send({ to: '999400000022', message: TEXT, ...recorded })),
  },
  {
    ...SMS,
    recipients: 1,
    channel: 'premium',
    send: (sends, _, recorded) => one(sends.premium({ to: '12', message: TEXT, ...recorded })),
  },
]

async function one(sending: Promise<Sent>): Promise<readonly SendError[]> {
  try {
    await sending
    return []
  } catch (error) {
    if (error instanceof SendError) return [error]
    throw error
  }
}

async function inBatches(sends: Client, to: readonly string[], recorded: Recorded): Promise<readonly SendError[]> {
  const { outcomes } = await sends.sendAll({ to, message: TEXT, ...recorded }, { batch: 5, concurrency: 2 })
  return [...new Set(outcomes.flatMap(({ error }) => error ?? []))]
}

function soon(): Date {
  return new Date(Date.now() + PLANNED_AHEAD_MS)
}

const REFUSED = ['999400000012', '999400000022', '999400000023'] as const

/** One number for each cause of a refusal, between valid ones. */
function withRefused(to: readonly string[]): readonly string[] {
  return [...to.slice(0, 5), ...REFUSED, ...to.slice(5)]
}

/** Half of them are documented numbers, whose reports cover every kind in the contract or never arrive. */
function numberFor({ channel, prefix }: KindOfSend, send: number, nth: number): string {
  const documented = OUTCOMES.filter(
    ({ channels, answer }) => channels.includes(channel) && (answer === 11 || answer === 13),
  )
  const outcome = nth % 2 === 0 && prefix !== TIMEOUT ? documented[(send + nth) % documented.length] : undefined
  return outcome?.number ?? `${prefix}${String(send).padStart(5, '0')}${String(nth).padStart(3, '0')}`
}

/** Sends this many messages per call, several sends at once. */
export function createSending(sends: Client) {
  /** Sends whose answer does not say what happened to them, and sends whose recipients were all refused. */
  const failed: SendError[] = []
  let count = 0

  async function send(kind: KindOfSend, nth: number): Promise<void> {
    const to = Array.from({ length: kind.recipients }, (_, index) => numberFor(kind, nth, index))
    failed.push(...(await kind.send(sends, to, { withinMs: kind.withinMs, meta: { send: nth } })))
  }

  async function play(messages: number): Promise<void> {
    let left = messages
    async function sendOneByOne(): Promise<void> {
      while (left > 0) {
        const nth = count
        const kind = KINDS[nth % KINDS.length]
        count += 1
        left -= kind?.recipients ?? 0
        if (kind !== undefined) await send(kind, nth)
      }
    }
    await Promise.all(Array.from({ length: SENDS_AT_ONCE }, sendOneByOne))
  }

  return { play, failed }
}
