/** The option `readReport`: a user's function that reads reports of a shape that the contract does not show. */
import { payloadIn } from './payload.ts'
import type { CallbackKind } from '../public/events.ts'
import { isPromiseLike, isRecord, letReject } from '../runtime/values.ts'
import { REPORT_SHAPES, type ReportShape } from '../public/report-payloads.ts'
import { readSms, type ReportPayload } from './report.ts'

/** The result of `readReport` for a payload that is a delivery report. */
export interface UsersReport {
  readonly messageId: string
  /** The sender's word. May be missing if there is a `statusCode`. */
  readonly status?: string | undefined
  /** A code of the contract's table. */
  readonly statusCode?: number | undefined
  /** Unix seconds. Default: the signature's time, otherwise the arrival. */
  readonly timestamp?: number | undefined
  readonly network?: string | undefined
  /** The vocabulary of `status`. Default: `chat-app` if the payload has `statuses`, otherwise `sms`. */
  readonly shape?: ReportShape | undefined
}

/** The option `readReport`: reads a report of a custom shape. Return undefined if the payload is not a report. */
export type ReadUsersReport = (
  payload: Readonly<Record<string, unknown>>,
  kind: CallbackKind | undefined,
) => UsersReport | undefined

interface Given {
  /** The body with its authKey masked. The function gets a copy and may change it. */
  readonly masked: Buffer
  readonly kind: CallbackKind | undefined
  readonly nowMs: number
}

/**
 * Returns undefined if the function recognises no report or the body is not an object. Throws what the function throws, and a
 * `TypeError` if it returns anything else.
 */
export function usersReport(read: ReadUsersReport, { masked, kind, nowMs }: Given): ReportPayload | undefined {
  const payload = payloadIn(masked)
  if (!isRecord(payload)) return undefined
  // The function may change its copy.
  const { channel } = payload
  const likelyShape: ReportShape = Object.hasOwn(payload, 'statuses') ? 'chat-app' : 'sms'
  const answer: unknown = read(payload, kind)
  if (answer === undefined || answer === null) return undefined
  if (isPromiseLike(answer)) {
    letReject(answer)
    throw new TypeError('readReport returned a promise; it must return the report synchronously.')
  }
  if (!isRecord(answer)) throw new TypeError('readReport must return an object or undefined.')
  // A copy: a getter may return another value the next time.
  const { shape: givenShape = likelyShape, ...fields } = answer
  const shape = REPORT_SHAPES.find((each) => each === givenShape)
  if (shape === undefined) throw new TypeError(`readReport returned a shape other than ${REPORT_SHAPES.join(' and ')}.`)
  const report = readSms({ ...fields, channel }, nowMs, () => '{}')
  if (typeof report === 'string') throw new TypeError(`readReport returned no usable report (${report}).`)
  return { ...report, shape }
}
