/** What is known of a message, apart from its events. */
import type { MessageLatest } from '../../inbox/latest.ts'
import { decodeLatest } from './encoding.ts'
import { blob, integer, text, type Row } from './row.ts'

interface KnownMessage {
  /** The chat-app steps seen, as bits. */
  readonly steps: number
  /** The greatest order handed over; and the same of reports that are not final, which alone make a final one late. */
  readonly handed: string
  readonly handedOpen: string
  /** Of the last lease; 0 before the first. */
  readonly token: number
  /** Somebody holds the message, or did and has let the lease run out. */
  readonly held: boolean
  readonly latest: MessageLatest | 'damaged' | undefined
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
  held: false,
  latest: undefined,
  idle: true,
}

export function readMessage(row: Row): MessageRow {
  const latest = blob(row, 'latest')
  return {
    message: integer(row, 'rowid'),
    steps: integer(row, 'steps'),
    handed: text(row, 'handed'),
    handedOpen: text(row, 'handed_open'),
    token: integer(row, 'token'),
    held: integer(row, 'held') !== 0,
    latest: latest && (decodeLatest(latest) ?? 'damaged'),
    idle: integer(row, 'idle') !== 0,
  }
}
