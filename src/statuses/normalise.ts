/** From a sender's word or code to one meaning, on any channel. Contract, "Events" and "Cross-channel mapping". */
import type { Carrier, Failure, ReportType, StatusCode } from '../events.ts'
import { CARRIER_A } from './carrier-a.ts'
import { CARRIER_B, CARRIER_B_OTHER } from './carrier-b.ts'
import { CHAT_APP } from './chat-app.ts'
import { statusCodeRow, statusWordRow, type Meaning } from './status-codes.ts'

/** What is known of a status before it is translated. */
export interface StatusInput {
  /** `chat-app` for the callback with a `statuses` object, else `sms`: the words differ. Default: `sms`. */
  readonly shape?: 'sms' | 'chat-app'
  /** The sender's word; may be missing where there is a code. */
  readonly status?: string | undefined
  /** A code of the contract's table; anything else is passed over. */
  readonly statusCode?: number | undefined
  /** Whose words they are, where that is known; otherwise the word itself tells. */
  readonly carrier?: Carrier | undefined
  /** The carrier's or provider's own words about a failure. */
  readonly reason?: string | undefined
}

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
 * Translates a status. A known word wins over a code, a known code over an unknown word; an unknown word of carrier B is a
 * permanent failure, and anything else that nobody knows gives undefined. Contract, "Cross-channel mapping".
 */
export function normaliseStatus(input: StatusInput): NormalisedStatus | undefined {
  const { shape = 'sms', status = '', reason } = input
  const wordRow = statusWordRow(status)
  const codeRow = statusCodeRow(input.statusCode)
  const carrier = shape === 'sms' ? (input.carrier ?? carrierByWord(status)) : undefined
  const meaning =
    meaningOfWord(shape, status, carrier) ??
    wordRow ??
    codeRow ??
    // Contract, "SMS delivery callback": other strings of carrier B are permanent failures.
    (carrier === 'carrierB' && status !== '' ? CARRIER_B_OTHER : undefined)
  if (meaning === undefined) return undefined
  const statusCode = wordRow !== undefined && meaning === wordRow ? wordRow.code : codeRow?.code
  return {
    type: meaning.type,
    ...(carrier === undefined ? undefined : { carrier }),
    ...(statusCode === undefined ? undefined : { statusCode }),
    ...(meaning.scheduled === undefined ? undefined : { scheduled: meaning.scheduled }),
    ...(meaning.failure === undefined
      ? undefined
      : { failure: reason === undefined ? meaning.failure : { ...meaning.failure, reason } }),
  }
}

function meaningOfWord(shape: 'sms' | 'chat-app', word: string, carrier: Carrier | undefined): Meaning | undefined {
  if (shape === 'chat-app') return CHAT_APP.get(word)
  // Carrier B's list is open, so its words are looked up in its own table alone.
  return carrier === 'carrierB' ? CARRIER_B.get(word) : (CARRIER_A.get(word) ?? CARRIER_B.get(word))
}

/** The two carriers share no word, so one of theirs tells who is speaking. */
function carrierByWord(word: string): Carrier | undefined {
  if (CARRIER_A.has(word)) return 'carrierA'
  return CARRIER_B.has(word) ? 'carrierB' : undefined
}
