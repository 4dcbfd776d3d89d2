/** A report in a shape that the contract does not show, as the user's own function reads it: `readReport`. */
import { payloadIn } from './payload.ts'
import type { CallbackKind } from '../public/events.ts'
import { isPromiseLike, isRecord, letReject } from '../runtime/values.ts'
import { REPORT_SHAPES, type ReportShape } from '../public/report-payloads.ts'
import { isExactText, odditiesOf, readTimestamp, type ReportPayload } from './report.ts'

/** What `readReport` returns of a payload that is a delivery report. */
export interface UsersReport {
  readonly messageId: string
  /** The sender's word; may be missing where there is a `statusCode`. */
  readonly status?: string | undefined
  /** A code of the contract's table. */
  readonly statusCode?: number | undefined
  /** Unix seconds. Default: the signature's time, else the arrival. */
  readonly timestamp?: number | undefined
  readonly network?: string | undefined
  /** Whose words they are: those of SMS, or of the chat-app. Default: of the chat-app where there are `statuses`. */
  readonly shape?: ReportShape | undefined
}

/** What the option `readReport` takes: reads a report of a shape of your own, or returns undefined for what is none. */
export type ReadUsersReport = (
  payload: Readonly<Record<string, unknown>>,
  kind: CallbackKind | undefined,
) => UsersReport | undefined

interface Given {
  /** The body's bytes, the authKey masked: what is read from them is a copy, and theirs to change. */
  readonly masked: Buffer
  readonly kind: CallbackKind | undefined
  readonly nowMs: number
}

/** Undefined where it is none to them, or no object. Throws what they throw, and a `TypeError` where they return something else. */
export function usersReport(read: ReadUsersReport, { masked, kind, nowMs }: Given): ReportPayload | undefined {
  const payload = payloadIn(masked)
  if (!isRecord(payload)) return undefined
  const { channel } = payload
  const likelyShape: ReportShape = Object.hasOwn(payload, 'statuses') ? 'chat-app' : 'sms'
  const answer: unknown = read(payload, kind)
  if (answer === undefined || answer === null) return undefined
  if (isPromiseLike(answer)) {
    letReject(answer)
    throw new TypeError('readReport returned a promise; it must answer at once.')
  }
  if (!isRecord(answer)) throw new TypeError('readReport returned something that is no object.')
  // Each is read once, though a getter may say something else the next time.
  const { messageId, status, statusCode, timestamp, network, shape: givenShape = likelyShape } = answer
  if (typeof messageId !== 'string' || messageId.trim() === '')
    throw new TypeError('readReport returned no messageId that is a text.')
  const hasCode = typeof statusCode === 'number' && Number.isInteger(statusCode)
  const word = typeof status === 'string' ? status : ''
  if (word === '' && !hasCode) throw new TypeError('readReport returned neither a status nor a statusCode.')
  const shape = REPORT_SHAPES.find((each) => each === givenShape)
  if (shape === undefined) throw new TypeError(`readReport returned a shape other than ${REPORT_SHAPES.join(' and ')}.`)
  const { seconds, oddity } = readTimestamp(timestamp, nowMs)
  return {
    shape,
    messageId,
    channel: typeof channel === 'string' ? channel : '',
    network: typeof network === 'string' ? network : undefined,
    recipient: undefined,
    status: word,
    statusCode: hasCode ? statusCode : undefined,
    reason: undefined,
    reasonCode: undefined,
    timestamp: seconds,
    oddities: odditiesOf(isExactText(messageId) && isExactText(word), oddity),
  }
}
