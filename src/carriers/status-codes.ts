/**
 * The numeric status codes, their words and their meanings. Contract, service.md#states-and-transitions. The table there has no
 * row for code 20.
 */
import { CODES, type StatusCode, type DeliveryFailure, type FailureCause, type ReportType } from '../public/events.ts'

/** The meaning of a status, independent of the channel. Contract, service.md#cross-channel-mapping. */
export interface Meaning {
  readonly type: ReportType
  readonly failure?: DeliveryFailure
  readonly scheduled?: boolean
}

/** A permanent failure: do not send again. */
export function permanent(cause: FailureCause): Meaning & { readonly failure: DeliveryFailure } {
  return { type: 'message.failed', failure: { kind: 'permanent', resend: false, cause } }
}

/** The channels of a code, as in the contract's table. */
type CodeChannel = 'sms' | 'chat-app' | 'premium' | 'airtime'

/** One row of the status code table: what the code means, and when the service reports it. */
export interface StatusCodeRow extends Meaning {
  readonly code: StatusCode
  readonly word: string
  readonly stage: 'sync accept' | 'sync fail' | 'sync accept and delivery report' | 'delivery report only'
  readonly channels: readonly CodeChannel[]
  readonly meaning: string
}

/** One row per code, checked by the compiler. Sending again is recommended for `expired` only. */
const ROWS: Readonly<Record<StatusCode, Omit<StatusCodeRow, 'code'>>> = {
  11: {
    word: 'accepted',
    stage: 'sync accept',
    channels: ['sms', 'chat-app', 'premium', 'airtime'],
    type: 'message.queued',
    scheduled: false,
    meaning: 'Received and queued for processing.',
  },
  12: {
    word: 'unsupported_number',
    stage: 'sync fail',
    channels: ['sms'],
    ...permanent('unsupported_number'),
    meaning: 'The number cannot be reached over this channel.',
  },
  13: {
    word: 'queued',
    stage: 'sync accept and delivery report',
    channels: ['chat-app'],
    type: 'message.queued',
    scheduled: false,
    meaning: 'Queued at the carrier, not delivered yet.',
  },
  14: {
    word: 'scheduled',
    stage: 'sync accept',
    channels: ['sms'],
    type: 'message.queued',
    scheduled: true,
    meaning: 'Planned for a later time.',
  },
  15: {
    word: 'device_ack',
    stage: 'delivery report only',
    channels: ['sms'],
    type: 'message.delivered',
    meaning: 'The recipient’s device acknowledged it.',
  },
  16: {
    word: 'read',
    stage: 'delivery report only',
    channels: ['chat-app'],
    type: 'message.read',
    meaning: 'The recipient read it.',
  },
  17: {
    word: 'expired',
    stage: 'delivery report only',
    channels: ['sms'],
    type: 'message.failed',
    failure: { kind: 'transient', resend: true, cause: 'expired' },
    meaning: 'Not delivered within its validity.',
  },
  18: {
    word: 'stopped_by_user',
    stage: 'delivery report only',
    channels: ['sms'],
    ...permanent('stopped_by_user'),
    meaning: 'The recipient opted out.',
  },
  19: {
    word: 'stopped_by_admin',
    stage: 'delivery report only',
    channels: ['sms'],
    ...permanent('stopped_by_admin'),
    meaning: 'Blocked by the policy of a carrier or of the platform.',
  },
  21: {
    word: 'delivery_failure',
    stage: 'delivery report only',
    channels: ['sms'],
    ...permanent('delivery_failure'),
    meaning: 'The carrier reported a failure.',
  },
  22: {
    word: 'insufficient_balance',
    stage: 'sync fail',
    channels: ['sms'],
    ...permanent('insufficient_balance'),
    meaning: 'The project has too few credits; not sent.',
  },
  23: {
    word: 'volume_limit',
    stage: 'sync fail',
    channels: ['sms'],
    ...permanent('volume_limit'),
    meaning: 'The project’s volume limit is exceeded; not sent.',
  },
}

/** The numeric codes, one row each. Contract, service.md#states-and-transitions. */
export const STATUS_CODES: readonly StatusCodeRow[] = CODES.map((code) => ({ code, ...ROWS[code] }))

export const ROW_BY_CODE: ReadonlyMap<number | undefined, StatusCodeRow> = new Map(
  STATUS_CODES.map((row) => [row.code, row]),
)
export const ROW_BY_WORD: ReadonlyMap<string, StatusCodeRow> = new Map(STATUS_CODES.map((row) => [row.word, row]))
