/** What can go wrong between a client and the answer to its send, one row a fault. Types, checks and the reference's table come from here. */
import { drawsOf, type Seed } from './draws.ts'

interface SendFaultRow {
  readonly what: string
  /** Whether the send is made all the same, and its callbacks come. */
  readonly made: 'yes' | 'no'
}

/** Every fault of an answer. A request has at most one; all but `lostRequest` befall sends that were accepted. */
export const SEND_FAULTS = {
  lostRequest: { what: 'The connection is reset, and nothing is made of the send.', made: 'no' },
  noAnswer: { what: 'The connection is reset without an answer.', made: 'yes' },
  silence: { what: 'No answer comes for as long as the client waits.', made: 'yes' },
  halfAnswer: { what: 'The connection is closed in the middle of the answer.', made: 'yes' },
  badGateway: { what: 'The answer is a 502 with a page of HTML.', made: 'yes' },
  lateAnswer: {
    what: 'The answer comes when a callback of the send has been answered, or after 2 s without one.',
    made: 'yes',
  },
} as const satisfies Readonly<Record<string, SendFaultRow>>

/** The name of a fault of answers. */
export type SendFaultName = keyof typeof SEND_FAULTS

/** The names, for lists and checks. `Object.keys` of a constant gives its keys and no others. */
export const SEND_FAULT_NAMES = Object.keys(SEND_FAULTS) as readonly SendFaultName[]

/** A rate from 0 (never, as for those left out) to 1 (always) for each fault of answers. */
export type SendFaultRates = Readonly<Partial<Record<SendFaultName, number>>>

/** The fault that a send meets, if any, by the seed and its own name. Of several, each has the same chance. */
export function drawSendFault(rates: SendFaultRates, seed: Seed, key: string): SendFaultName | undefined {
  const draw = drawsOf(seed, 'answer', key)
  const drawn = SEND_FAULT_NAMES.filter((name) => draw(name) < (rates[name] ?? 0))
  return drawn[Math.floor(draw('one of them') * drawn.length)]
}
