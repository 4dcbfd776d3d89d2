/** Distinct, freshly signed requests in wire format, made in advance so that sending costs next to nothing. */
import { randomUUID } from 'node:crypto'
import { callback } from 'messaging-webhooks/testing'
import { SCHEMES, type SchemeName } from './schemes.ts'
import { PATH, projectName } from './secrets.ts'

export type Report = Readonly<Record<string, unknown>>

export interface ReportsWanted {
  readonly count: number
  /** Approximate bytes of a body; default: the natural size of a report, about 300. */
  readonly bodyBytes?: number | undefined
  /** The number of projects that the requests are spread over; default: one. */
  readonly projects?: number | undefined
  /** The statuses of each message's reports, in order; default: one report per message. */
  readonly statuses?: readonly string[] | undefined
}

/** Sends the first reports of many messages, then their second reports, so that reports of one message are never in flight together. */
const MESSAGES_BETWEEN = 200

/** This many reports, each of its own message unless `statuses` says otherwise. */
export function makeReports({ count, bodyBytes, projects, statuses = ['success'] }: ReportsWanted): readonly Report[] {
  const messageIds = new Map<number, string>()
  return Array.from({ length: count }, (_, index) => {
    const turn = Math.floor(index / MESSAGES_BETWEEN)
    const message = Math.floor(turn / statuses.length) * MESSAGES_BETWEEN + (index % MESSAGES_BETWEEN)
    const messageId = messageIds.get(message) ?? randomUUID()
    if (statuses.length > 1) messageIds.set(message, messageId)
    const report = {
      ...callback.smsDelivery({ messageId, status: statuses[turn % statuses.length] }),
      recipient: '254711000000',
      campaign: 'Spring sale, second reminder',
      ...(projects === undefined ? undefined : { project: projectName(index % projects) }),
    }
    return bodyBytes === undefined ? report : padded(report, bodyBytes)
  })
}

/** Padded as a real report could be: with a list of items, not with one long string that every parser skips. */
function padded(report: Report, bodyBytes: number): Report {
  const missing = bodyBytes - JSON.stringify(report).length
  const item = 'an entry of the trace that some carriers attach'
  return { ...report, trace: Array.from({ length: Math.max(0, Math.round(missing / (item.length + 3))) }, () => item) }
}

/** A complete HTTP request. */
export function requestOf(report: Report, scheme: SchemeName): Buffer {
  const { body, headers } = SCHEMES[scheme](report)
  const head = [
    `POST ${PATH} HTTP/1.1`,
    'host: localhost',
    'content-type: application/json',
    'accept: application/json',
    ...headers,
    `content-length: ${body.length}`,
  ]
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body])
}
