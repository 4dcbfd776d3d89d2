/** The numeric codes and their words. Contract, "States and transitions". Code 20 is not assigned. */
import type { Failure, ReportType, StatusCode } from '../events.ts'

/** What a status means, whatever channel it came over. */
export interface Meaning {
  readonly type: ReportType
  readonly failure?: Failure
  readonly scheduled?: boolean
}

export interface StatusCodeRow extends Meaning {
  readonly code: StatusCode
  readonly word: string
  readonly stage: 'sync accept' | 'sync fail' | 'sync accept and delivery report' | 'delivery report only'
  readonly meaning: string
}

const permanent: Failure = { kind: 'permanent', resend: false }

/** One row a code. Re-sending is recommended for `expired` alone. */
export const STATUS_CODES: readonly StatusCodeRow[] = [
  {
    code: 11,
    word: 'accepted',
    stage: 'sync accept',
    type: 'message.queued',
    scheduled: false,
    meaning: 'Received and queued for processing.',
  },
  {
    code: 12,
    word: 'unsupported_number',
    stage: 'sync fail',
    type: 'message.failed',
    failure: permanent,
    meaning: 'The number cannot be reached over this channel.',
  },
  {
    code: 13,
    word: 'queued',
    stage: 'sync accept and delivery report',
    type: 'message.queued',
    scheduled: false,
    meaning: 'Queued at the carrier, not delivered yet.',
  },
  {
    code: 14,
    word: 'scheduled',
    stage: 'sync accept',
    type: 'message.queued',
    scheduled: true,
    meaning: 'Planned for a later time.',
  },
  {
    code: 15,
    word: 'device_ack',
    stage: 'delivery report only',
    type: 'message.delivered',
    meaning: 'The recipient’s device acknowledged it.',
  },
  {
    code: 16,
    word: 'read',
    stage: 'delivery report only',
    type: 'message.read',
    meaning: 'The recipient read it.',
  },
  {
    code: 17,
    word: 'expired',
    stage: 'delivery report only',
    type: 'message.failed',
    failure: { kind: 'transient', resend: true },
    meaning: 'Not delivered within its validity.',
  },
  {
    code: 18,
    word: 'stopped_by_user',
    stage: 'delivery report only',
    type: 'message.failed',
    failure: permanent,
    meaning: 'The recipient opted out.',
  },
  {
    code: 19,
    word: 'stopped_by_admin',
    stage: 'delivery report only',
    type: 'message.failed',
    failure: permanent,
    meaning: 'Blocked by the policy of a carrier or of the platform.',
  },
  {
    code: 21,
    word: 'delivery_failure',
    stage: 'delivery report only',
    type: 'message.failed',
    failure: permanent,
    meaning: 'The carrier reported a failure.',
  },
  {
    code: 22,
    word: 'insufficient_balance',
    stage: 'sync fail',
    type: 'message.failed',
    failure: permanent,
    meaning: 'The project has too few credits; not sent.',
  },
  {
    code: 23,
    word: 'volume_limit',
    stage: 'sync fail',
    type: 'message.failed',
    failure: permanent,
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
