/** From a sender's word or code to one meaning, on any channel. Contract, service.md#events, #cross-channel-mapping. */
import type { Carrier, Failure, ReportType, StatusCode } from '../events.ts'
import type { ReportShape } from '../report-payloads.ts'
import { CARRIER_A, carrierAStatus } from './carrier-a.ts'
import { CARRIER_B, CARRIER_WORD } from './carrier-b.ts'
import { CHAT_APP } from './chat-app.ts'
import type { Meaning } from './meaning.ts'
import { ROW_BY_CODE, ROW_BY_WORD } from './status-codes.ts'

/** What is known of a status before it is translated. */
export interface StatusInput {
  /** `chat-app` for the callback with a `statuses` object, else `sms`: the words differ. Default: `sms`. */
  readonly shape?: ReportShape
  /** The sender's word; may be missing where there is a code. */
  readonly status?: string | undefined
  /** A code of the contract's table; anything else is passed over. */
  readonly statusCode?: number | undefined
  /** Whose words they are, where that is known; otherwise the word itself tells. */
  readonly carrier?: Carrier | undefined
  /** The carrier's or provider's own words about a failure. */
  readonly reason?: string | undefined
  /** The carrier's own code of a failure. */
  readonly reasonCode?: string | undefined
}

/** A number in place of a word. */
const CODE = /^\d{1,15}$/

/** One vocabulary for every channel. */
export interface NormalisedStatus {
  readonly type: ReportType
  readonly carrier?: Carrier
  readonly statusCode?: StatusCode
  /** For `message.queued`: planned for later. */
  readonly scheduled?: boolean
  /** For `message.failed`. */
  readonly failure?: Failure
}

/**
 * Translates a status. Contract, service.md#sms-delivery-callback, #chat-app-delivery-callback, #states-and-transitions.
 *
 * - Carrier A: its five words and its numbers; then the words and codes of the code table; else undefined.
 * - Carrier B: `delivered` and `failed`; every other word is its own, so that it is read by its code, else as a permanent
 *   failure.
 * - A network that nobody named: a word or number of either carrier tells whose it is; then any word of a table; then the
 *   code; else the word is a carrier's own, and a permanent failure.
 * - A chat-app: its four words, then the code table; else undefined.
 */
export function normaliseStatus(input: StatusInput): NormalisedStatus | undefined {
  const { shape = 'sms', status = '' } = input
  const carrier = shape === 'sms' ? (input.carrier ?? carrierByWord(status)) : undefined
  const codeRow = ROW_BY_CODE.get(input.statusCode)
  const wordRow = ROW_BY_WORD.get(status)
  const meaning =
    meaningOfWord(shape, status, carrier, wordRow) ?? codeRow ?? meaningOfUnknown(shape, status, input.carrier)
  if (meaning === undefined) return undefined
  const statusCode = meaning === wordRow ? wordRow.code : codeRow?.code
  return {
    type: meaning.type,
    ...(carrier === undefined ? undefined : { carrier }),
    ...(statusCode === undefined ? undefined : { statusCode }),
    ...(meaning.scheduled === undefined ? undefined : { scheduled: meaning.scheduled }),
    ...(meaning.failure === undefined ? undefined : { failure: explained(meaning.failure, input) }),
  }
}

function meaningOfWord(
  shape: ReportShape,
  word: string,
  carrier: Carrier | undefined,
  wordRow: Meaning | undefined,
): Meaning | undefined {
  if (shape === 'chat-app') return CHAT_APP.get(word) ?? wordRow
  // Carrier B's list is open, so its words are looked up in its own table alone.
  if (carrier === 'carrierB') return CARRIER_B.get(word)
  if (carrier === 'carrierA') return CARRIER_A.get(CODE.test(word) ? carrierAStatus(Number(word)) : word) ?? wordRow
  return wordRow ?? CHAT_APP.get(word)
}

/** The two carriers share no word, so one of theirs tells who is speaking; so does a number, which only carrier A has. */
function carrierByWord(word: string): Carrier | undefined {
  if (CARRIER_A.has(word) || CODE.test(word)) return 'carrierA'
  return CARRIER_B.has(word) ? 'carrierB' : undefined
}

/** Carrier A and the chat-app list all their words; whoever else says something new is a carrier with words of its own. */
function meaningOfUnknown(shape: ReportShape, word: string, carrier: Carrier | undefined): Meaning | undefined {
  if (shape === 'chat-app' || carrier === 'carrierA' || word === '') return undefined
  return carrier === undefined && word.trim() === '' ? undefined : CARRIER_WORD
}

function explained(failure: Failure, { status, reason, reasonCode }: StatusInput): Failure {
  const code = reasonCode === '' ? undefined : reasonCode
  const words = reason === '' ? undefined : reason
  const said = words ?? code ?? (failure.cause === 'carrier_word' ? status : undefined)
  if (said === undefined) return failure
  return { ...failure, reason: said, ...(code === undefined ? undefined : { code }) }
}
