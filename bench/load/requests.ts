/** Distinct, freshly signed requests as they go over the wire, made beforehand so that sending costs next to nothing. */
import { randomUUID } from 'node:crypto'
import { callback } from 'messaging-webhooks/testing'
import { SCHEMES, type SchemeName } from './schemes.ts'
import { PATH, projectName } from './secrets.ts'

export type Report = Readonly<Record<string, unknown>>

export interface ReportsWanted {
  readonly count: number
  /** About so many bytes a body; default: what a report has by itself, some 300. */
  readonly bodyBytes?: number | undefined
  /** Spread over so many projects; default: one. */
  readonly projects?: number | undefined
  /** The words of each message's reports, in their order; default: one report a message. */
  readonly statuses?: readonly string[] | undefined
}

/** Of so many messages come the first reports, then their second ones: those of one message are not under way at once. */
const MESSAGES_BETWEEN = 200

/** As many reports; of as many messages, where `statuses` does not say otherwise. */
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

/** Grown as a real report could be: by a list of items, not by one long text that every parser jumps over. */
function padded(report: Report, bodyBytes: number): Report {
  const missing = bodyBytes - JSON.stringify(report).length
  const item = 'an entry of the trace that some carriers attach'
  return { ...report, trace: Array.from({ length: Math.max(0, Math.round(missing / (item.length + 3))) }, () => item) }
}

/** A whole HTTP request. */
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
