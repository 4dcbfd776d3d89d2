/** What is known of a message, apart from its events. */
import type { MessageLatest } from '../../inbox/latest.ts'
import { decodeLatest } from './encoding.ts'
import { integer, text, type Row } from './row.ts'

interface KnownMessage {
  /** The chat-app steps seen, as bits. */
  readonly steps: number
  /** The greatest order handed over; and the same of reports that are not final, which alone make a final one late. */
  readonly handed: string
  readonly handedOpen: string
  /** Of the last lease; 0 before the first. */
  readonly token: number
  /** 0 while nobody holds the message. */
  readonly leaseToken: number
  readonly latest: MessageLatest | undefined
  /** Nothing of it waits or is in anybody's hands. */
  readonly idle: boolean
}

export interface MessageRow extends KnownMessage {
  readonly message: number
}

/** What is known of a message before its first event. */
export const UNKNOWN_MESSAGE: KnownMessage = {
  steps: 0,
  handed: '',
  handedOpen: '',
  token: 0,
  leaseToken: 0,
  latest: undefined,
  idle: true,
}

export function readMessage(row: Row): MessageRow {
  const leaseToken = integer(row, 'lease_token')
  return {
    message: integer(row, 'rowid'),
    steps: integer(row, 'steps'),
    handed: text(row, 'handed'),
    handedOpen: text(row, 'handed_open'),
    token: integer(row, 'token'),
    leaseToken,
    latest: decodeLatest(row['latest']),
    idle: leaseToken === 0 && row['due'] === null,
  }
}
