/** The contract's tables of statuses, copied by hand, and the tables of the package. */
import {
  carrierAStatus,
  CARRIER_A_CODES,
  CROSS_CHANNEL_MAP,
  normaliseStatus,
  STATUS_CODES,
  type NormalisedStatus,
} from 'messaging-webhooks'
import { vectors, type NormalisationVector } from 'messaging-webhooks/vectors'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { CARRIERS } from '../../src/public/events.ts'
import { recordOf } from '../../src/runtime/values.ts'
import { readTable } from '../support/vectors.ts'

/** The decision about a report's status, if it has the documented types. */
const sms = z.object({
  messageId: z.string(),
  status: z.string().optional(),
  statusCode: z.int().optional(),
  network: z.string().optional(),
  description: z.string().optional(),
  status_code: z.string().optional(),
  statuses: z.undefined().optional(),
})
const chatApp = z.object({
  statusCode: z.int().optional(),
  statuses: z.object({ message_id: z.string(), status: z.string().optional(), error: z.string().optional() }),
})

/** The decision by words and codes, once the message is known. */
const ABOUT_STATUS: readonly NormalisationVector['expected']['problem'][] = [undefined, 'no_status', 'unknown_status']

/** A report's status as `normaliseStatus` takes it; undefined for a vector without a status. */
function statusInputOf({ bodyBase64, kind, networks, expected }: NormalisationVector) {
  if (kind !== 'status' || !ABOUT_STATUS.includes(expected.problem)) return undefined
  const body = parsed(Buffer.from(bodyBase64, 'base64').toString())
  const { data: report } = sms.safeParse(body)
  if (report !== undefined) {
    const { status, statusCode, network = '', description: reason, status_code: reasonCode } = report
    const carrier = Object.hasOwn(networks, network) ? networks[network] : undefined
    return { status, statusCode, carrier, reason, reasonCode }
  }
  const { data: chat } = chatApp.safeParse(body)
  if (chat === undefined) return undefined
  const { statusCode, statuses } = chat
  return { shape: 'chat-app' as const, status: statuses.status, statusCode, reason: statuses.error }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const failure = z.strictObject({
  kind: z.enum(['transient', 'permanent', 'unreachable']),
  resend: z.boolean(),
  cause: z.string(),
  reason: z.string().exactOptional(),
  code: z.string().exactOptional(),
})
const type = z.enum(['message.queued', 'message.sent', 'message.delivered', 'message.read', 'message.failed'])

describe('States and transitions', () => {
  const rows = readTable(
    'status-codes',
    z.array(
      z.strictObject({
        code: z.int(),
        word: z.string(),
        type,
        scheduled: z.boolean().optional(),
        failure: failure.optional(),
        channels: z.array(z.string()),
      }),
    ),
  )

  test.each(rows)('$code $word', ({ code, word, channels, ...meaning }) => {
    expect(STATUS_CODES.find((row) => row.code === code)).toMatchObject({ code, word, channels, ...meaning })
    expect(normaliseStatus({ statusCode: code })).toEqual({ statusCode: code, ...meaning })
    expect(normaliseStatus({ status: word })).toEqual({ statusCode: code, ...meaning })
  })

  test('there are no others', () => {
    expect(STATUS_CODES.map(({ code }) => code)).toEqual(rows.map(({ code }) => code))
    const unassigned = Array.from({ length: 200 }, (_, code) => code - 50).filter((code) =>
      rows.every((row) => row.code !== code),
    )
    for (const statusCode of unassigned) expect(normaliseStatus({ statusCode })).toBeUndefined()
  })

  test('re-sending is recommended only for expired', () => {
    expect(STATUS_CODES.filter((row) => row.failure?.resend).map(({ word }) => word)).toEqual(['expired'])
  })
})

describe('Carrier A status values', () => {
  const words = readTable('carrier-a-codes', z.record(z.string(), z.array(z.number())))

  test.each(Object.entries(words).flatMap(([word, codes]) => codes.map((code) => ({ code, word }))))(
    'code $code is $word',
    ({ code, word }) => {
      expect(carrierAStatus(code)).toBe(word)
    },
  )

  test('no other code is mapped', () => {
    const { unknown_error: _, ...mapped } = words
    expect([...CARRIER_A_CODES.keys()].sort(ascending)).toEqual(Object.values(mapped).flat().sort(ascending))
    for (const code of [NaN, Infinity, -0.1]) expect(carrierAStatus(code)).toBe('unknown_error')
  })
})

describe('Events', () => {
  const rows = vectors.normalisation.flatMap((vector) => {
    const input = statusInputOf(vector)
    return input === undefined ? [] : [{ ...vector, input }]
  })

  test('most normalisation vectors are about a status', () => {
    expect(rows.length).toBeGreaterThan(150)
  })

  test.each(rows)('$name', ({ input, expected }) => {
    const meaning: NormalisedStatus | undefined = normaliseStatus(input)
    const { type, carrier, statusCode, scheduled, failure } = expected
    expect(meaning).toEqual(type === 'unrecognized' ? undefined : { type, carrier, statusCode, scheduled, failure })
  })
})

describe('Cross-channel mapping', () => {
  const rows = readTable(
    'cross-channel-map',
    z.array(
      z.strictObject({
        concept: z.string(),
        ...recordOf(CARRIERS, () => z.array(z.string())),
        chatApp: z.array(z.string()),
        notes: z.record(z.string(), z.string()).exactOptional(),
      }),
    ),
  )

  test('the map is the table', () => {
    expect(CROSS_CHANNEL_MAP).toEqual(rows)
  })

  test('re-sending is recommended only for transient failures', () => {
    for (const { concept, chatApp, ...row } of rows) {
      const meanings = [
        ...CARRIERS.flatMap((carrier) => row[carrier].map((status) => normaliseStatus({ status, carrier }))),
        ...chatApp.map((status) => normaliseStatus({ status, shape: 'chat-app' })),
      ]
      for (const meaning of meanings) expect(meaning?.failure?.resend ?? false).toBe(concept === 'transient failure')
    }
  })
})

function ascending(a: number, b: number): number {
  return a - b
}
