/** A client whose sends are all written down by a receiver: each is accounted for, whatever happens in between. */
import { z } from 'zod'
import { checkOptions, numberFrom, textOf } from '../check-options.ts'
import { LONGEST_TIMER_MS, type Clock } from '../clock.ts'
import { defined } from '../defined.ts'
import { MessagingWebhooksError } from '../errors.ts'
import type { RecordOptions } from '../intention.ts'
import type { Client } from './client.ts'
import {
  checkMessage,
  recipientsOf,
  type Airtime,
  type Message,
  type Outgoing,
  type OtpMessage,
  type PremiumMessage,
  type SendCall,
} from './message.ts'
import { clockOf, clockSchema } from './options.ts'
import { recordedSend, type SendRecorder } from './recording.ts'
import { sendInBatches } from './send-all.ts'
import {
  checkRecorded,
  checkRecordedAll,
  type RecordedSendAllOptions,
  type RecordedSendOptions,
  type SendOptions,
} from './send-options.ts'
import type { RepeatedBatch, SentAll } from './sent-all.ts'
import type { Sent } from './sent.ts'

/**
 * The calls of a client, each written down by the receiver before its request. They reject as those of the client do, and: as
 * `receiver.intend` does, and then nothing was sent; with a `SendError` (`unrecorded`) where the answer could not be written down.
 */
export interface Sender {
  /** As `client.send`. */
  send(message: Message, options?: RecordedSendOptions): Promise<Sent>
  /** As `client.otp`. */
  otp(message: OtpMessage, options?: RecordedSendOptions): Promise<Sent>
  /** As `client.premium`. */
  premium(message: PremiumMessage, options?: RecordedSendOptions): Promise<Sent>
  /** As `client.premiumSubscription`. */
  premiumSubscription(message: PremiumMessage, options?: RecordedSendOptions): Promise<Sent>
  /** As `client.airtime`. */
  airtime(airtime: Airtime, options?: RecordedSendOptions): Promise<Sent>
  /** As `client.sendAll`; each batch is a send of its own. Where the receiver's store is away, it stops. */
  sendAll(message: Message, options?: RecordedSendAllOptions): Promise<SentAll>
}

/** What holds for all calls of a sender. */
export interface SenderOptions {
  /** The project's display name, where the receiver has several. Default: none. */
  readonly project?: string | undefined
  /** How long to try to write down an answer while the receiver's store is away. Milliseconds. Default: 30,000. */
  readonly recordWithinMs?: number | undefined
  /** A function that returns milliseconds, or a clock with timers too. Default: the machine's. */
  readonly clock?: Clock | (() => number) | undefined
}

const RECORD_WITHIN_MS = 30_000

/** What whoever writes sends down can be told. */
export const senderShape = {
  recordWithinMs: numberFrom(1, LONGEST_TIMER_MS, 'milliseconds').default(RECORD_WITHIN_MS),
  clock: clockSchema,
}

const optionsSchema = z.strictObject({
  ...senderShape,
  project: textOf('the display name of a project').optional(),
})

/**
 * Joins a client and a receiver: each send is written down before its request, so that every message that it leads to is expected,
 * and `send.unknown` is made of a send of which nobody knows what came of it, also where the process ends in the middle. A reference
 * that was used is not sent again. Throws an `OptionsError` for an option that cannot work.
 */
export function sender(receiver: SendRecorder, client: Client, options: SenderOptions = {}): Sender {
  const { project, recordWithinMs } = checkOptions(optionsSchema, options, 'sender')
  const clock = clockOf(options.clock)

  function record(outgoing: Outgoing, recording: RecordOptions, make: () => Promise<Sent>): Promise<Sent> {
    const { to, type, channel, campaign, scheduledFor } = outgoing
    const send = { to, type, campaign, scheduledFor, project, ...defined(recording) }
    return recordedSend(channel === NOT_NAMED ? send : { ...send, channel }, make, { receiver, clock, recordWithinMs })
  }

  async function one<M extends Pick<Outgoing, 'to'>>(
    call: SendCall,
    message: M,
    given: RecordedSendOptions | undefined,
    make: (asWritten: M, sending: SendOptions) => Promise<Sent>,
  ): Promise<Sent> {
    const { sending, recording } = checkRecorded(call, given)
    const outgoing = checkMessage(call, message, DEFAULTS[call])
    // What is sent is what was written down, whatever the caller does with its object meanwhile.
    const asWritten = { ...message, to: outgoing.to }
    return record(outgoing, recording, () => make(asWritten, sending))
  }

  return {
    send: (message, given) => one('send', message, given, (asWritten, sending) => client.send(asWritten, sending)),
    otp: (message, given) => one('otp', message, given, (asWritten, sending) => client.otp(asWritten, sending)),
    premium: (message, given) =>
      one('premium', message, given, (asWritten, sending) => client.premium(asWritten, sending)),
    premiumSubscription: (message, given) =>
      one('premiumSubscription', message, given, (asWritten, sending) =>
        client.premiumSubscription(asWritten, sending),
      ),
    airtime: (airtime, given) =>
      one('airtime', airtime, given, (asWritten, sending) => client.airtime(asWritten, sending)),
    async sendAll(message, given) {
      const outgoing = checkMessage('sendAll', message, DEFAULTS.sendAll)
      const asWritten = { ...message }
      const { batches, recording } = checkRecordedAll(given)
      const { via } = batches
      return sendInBatches(recipientsOf(outgoing), batches, async (to, index): Promise<Sent | RepeatedBatch> => {
        const reference = recording.reference === undefined ? undefined : `${recording.reference}#${index}`
        const send = (): Promise<Sent> => client.send({ ...asWritten, to }, { via })
        try {
          return await record({ ...outgoing, to }, { ...recording, reference }, send)
        } catch (error) {
          if (reference === undefined || !isRepetition(error)) throw error
          return { to, reference }
        }
      })
    },
  }
}

/** What the client calls these channels is known with the answer. */
const NOT_NAMED = ''

const DEFAULTS = {
  send: { channel: 'sms' },
  sendAll: { channel: 'sms' },
  otp: { channel: 'sms', type: 'transactional' },
  premium: { channel: NOT_NAMED },
  premiumSubscription: { channel: NOT_NAMED },
  airtime: { channel: NOT_NAMED },
} as const

function isRepetition(error: unknown): boolean {
  return error instanceof MessagingWebhooksError && error.code === 'send_repeated'
}
