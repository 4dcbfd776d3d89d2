/** What is known of a message, apart from its events. */
import type { MessageLatest } from '../../inbox/latest.ts'
import { decodeLatest } from './encoding.ts'
import { integer, text, type Row } from './row.ts'

export interface MessageRow {
  readonly message: number
  /** The chat-app steps seen, as bits. */
  readonly steps: number
  /** The greatest order handed over; and the same of reports that are not final, which alone make a final one late. */
  readonly handed: string
  readonly handedOpen: string
  /** 0 while nobody holds the message. */
  readonly leaseToken: number
  readonly latest: MessageLatest | undefined
}

export function readMessage(row: Row): MessageRow {
  return {
    message: integer(row, 'rowid'),
    steps: integer(row, 'steps'),
    handed: text(row, 'handed'),
    handedOpen: text(row, 'handed_open'),
    leaseToken: integer(row, 'lease_token'),
    latest: decodeLatest(row['latest']),
  }
}
