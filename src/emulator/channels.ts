/**
 * The channels: their names, codes and response envelopes. Contract, service.md#send-request-fields,
 * #chat-app-delivery-callback: `channel` is `sms`, or the lowercase name of the chat-app, which the user of the emulator
 * configures. The contract does not show the other names.
 */
import { z } from 'zod'
import { OptionsError } from '../public/errors.ts'
import { expected } from '../runtime/check-options.ts'
import type { StatusCode } from '../public/events.ts'
import { recordOf } from '../runtime/values.ts'
import { ROW_BY_CODE } from '../carriers/status-codes.ts'
import { CHANNELS, REFUSAL_WORDS, type Channel } from './not-shown.ts'

/** Names that replace the emulator's own. The contract fixes the name `sms`. */
export type ChannelNames = Readonly<Partial<Record<Exclude<Channel, 'sms'>, string | undefined>>>

export interface NamedChannel {
  readonly channel: Channel
  /** The name in sends, callbacks and records. */
  readonly name: string
}

/** The default channel of a send. */
export const SMS: NamedChannel = { channel: 'sms', name: 'sms' }

const LONGEST_SHOWN = 80

/** Words separated by single spaces, without control characters. */
const NAME = /^[^\s\p{C}]+( [^\s\p{C}]+)*$/u

const isName = (value: unknown): value is string => typeof value === 'string' && NAME.test(value)
const anyName = expected<string>('a name without spaces around it', isName).optional()

/** Schema of the option. */
export const channelNamesSchema = z.strictObject({
  sms: z.undefined('expected to be left out: `sms` is the service’s own name for it').optional(),
  'chat-app': expected<string>(
    'the chat-app’s name in lowercase',
    (name) => isName(name) && name === name.toLowerCase(),
  ).optional(),
  premium: anyName,
  'premium-subscription': anyName,
  airtime: anyName,
})

/** Throws an `OptionsError` if two channels share a name. */
export function resolveChannelNames(given: ChannelNames = {}) {
  const names: Readonly<Record<Channel, string>> = recordOf(CHANNELS, (channel) =>
    channel === 'sms' ? channel : (given[channel] ?? channel),
  )
  const byName = new Map<string, NamedChannel>()
  for (const channel of CHANNELS) {
    const name = names[channel]
    const other = byName.get(name)?.channel
    const shown = JSON.stringify(name.slice(0, LONGEST_SHOWN))
    if (other !== undefined)
      throw new OptionsError(
        `channels: ${shown} is the name of ${other} and of ${channel}; expected a name of its own for each.`,
      )
    byName.set(name, { channel, name })
  }
  return {
    names,
    /** The channel that a request names. SMS if it names none, undefined if the name is unknown. */
    find: (name: unknown): NamedChannel | undefined =>
      name === undefined || name === '' ? SMS : typeof name === 'string' ? byName.get(name) : undefined,
  }
}

/** The reason of a refusal. Each channel formats it as its own envelope. */
export interface RefusalReason {
  readonly topic: 'fields' | 'balance' | 'other'
  readonly text: string
  /** For `fields`: the errors of each field. */
  readonly fields?: Readonly<Record<string, readonly string[]>>
}

type Body = Readonly<Record<string, unknown>>

/** Whether the contract's table lists the code for the channel. Its `Premium` covers both premium channels. */
export function isListed(code: StatusCode, channel: Channel): boolean {
  const listed = channel === 'premium-subscription' ? 'premium' : channel
  return ROW_BY_CODE.get(code)?.channels.includes(listed) === true
}

/** Contract, service.md#send-a-message, #authentication-errors: the wrapper is `data` for airtime, else `messageData`. */
export function wrapped(channel: Channel, content: object): Body {
  return channel === 'airtime' ? { data: content } : { messageData: content }
}

/** The error envelope of a channel. If the channel has several forms, we choose by topic. */
export function refusalBody(channel: Channel, { topic, text, fields = {} }: RefusalReason): Body {
  if (channel === 'sms') return wrapped(channel, { message: text })
  if (channel === 'chat-app') {
    if (topic === 'fields') return { message: text, errors: fields }
    return topic === 'balance' ? { MessageData: { Error: text } } : { error: text }
  }
  if (channel === 'airtime' && topic === 'balance') return wrapped(channel, { message: text })
  const status = topic === 'fields' ? REFUSAL_WORDS.fields : REFUSAL_WORDS.other
  return channel === 'airtime' ? { status, errorMessage: text } : { status, description: text }
}
