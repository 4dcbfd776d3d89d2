/** The numeric codes and their words. Contract, "States and transitions". Code 20 is not assigned. */
import type { StatusCode } from '../events.ts'
import { permanent, type Meaning } from './meaning.ts'

/** Over what a code comes, as the contract's table has it. */
export type CodeChannel = 'sms' | 'chat-app' | 'premium' | 'airtime'

export interface StatusCodeRow extends Meaning {
  readonly code: StatusCode
  readonly word: string
  readonly stage: 'sync accept' | 'sync fail' | 'sync accept and delivery report' | 'delivery report only'
  readonly channels: readonly CodeChannel[]
  readonly meaning: string
}

/** One row a code. Re-sending is recommended for `expired` alone. */
export const STATUS_CODES: readonly StatusCodeRow[] = [
  {
    code: 11,
    word: 'accepted',
    stage: 'sync accept',
    channels: ['sms', 'chat-app', 'premium', 'airtime'],
    type: 'message.queued',
    scheduled: false,
    meaning: 'Received and queued for processing.',
  },
  {
    code: 12,
    word: 'unsupported_number',
    stage: 'sync fail',
    channels: ['sms'],
    ...permanent('unsupported_number'),
    meaning: 'The number cannot be reached over this channel.',
  },
  {
    code: 13,
    word: 'queued',
    stage: 'sync accept and delivery report',
    channels: ['chat-app'],
    type: 'message.queued',
    scheduled: false,
    meaning: 'Queued at the carrier, not delivered yet.',
  },
  {
    code: 14,
    word: 'scheduled',
    stage: 'sync accept',
    channels: ['sms'],
    type: 'message.queued',
    scheduled: true,
    meaning: 'Planned for a later time.',
  },
  {
    code: 15,
    word: 'device_ack',
    stage: 'delivery report only',
    channels: ['sms'],
    type: 'message.delivered',
    meaning: 'The recipient’s device acknowledged it.',
  },
  {
    code: 16,
    word: 'read',
    stage: 'delivery report only',
    channels: ['chat-app'],
    type: 'message.read',
    meaning: 'The recipient read it.',
  },
  {
    code: 17,
    word: 'expired',
    stage: 'delivery report only',
    channels: ['sms'],
    type: 'message.failed',
    failure: { kind: 'transient', resend: true, cause: 'expired' },
    meaning: 'Not delivered within its validity.',
  },
  {
    code: 18,
    word: 'stopped_by_user',
    stage: 'delivery report only',
    channels: ['sms'],
    ...permanent('stopped_by_user'),
    meaning: 'The recipient opted out.',
  },
  {
    code: 19,
    word: 'stopped_by_admin',
    stage: 'delivery report only',
    channels: ['sms'],
    ...permanent('stopped_by_admin'),
    meaning: 'Blocked by the policy of a carrier or of the platform.',
  },
  {
    code: 21,
    word: 'delivery_failure',
    stage: 'delivery report only',
    channels: ['sms'],
    ...permanent('delivery_failure'),
    meaning: 'The carrier reported a failure.',
  },
  {
    code: 22,
    word: 'insufficient_balance',
    stage: 'sync fail',
    channels: ['sms'],
    ...permanent('insufficient_balance'),
    meaning: 'The project has too few credits; not sent.',
  },
  {
    code: 23,
    word: 'volume_limit',
    stage: 'sync fail',
    channels: ['sms'],
    ...permanent('volume_limit'),
    meaning: 'The project’s volume limit is exceeded; not sent.',
  },
]

const byCode: ReadonlyMap<number, StatusCodeRow> = new Map(STATUS_CODES.map((row) => [row.code, row]))
const byWord: ReadonlyMap<string, StatusCodeRow> = new Map(STATUS_CODES.map((row) => [row.word, row]))

export function statusCodeRow(code: number | undefined): StatusCodeRow | undefined {
  return code === undefined ? undefined : byCode.get(code)
}

export function statusWordRow(word: string): StatusCodeRow | undefined {
  return byWord.get(word)
}
