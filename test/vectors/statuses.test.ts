/** The contract's tables of statuses, copied by hand, and the tables of the package. */
import { carrierAStatus, CARRIER_A_CODES, CROSS_CHANNEL_MAP, normaliseStatus, STATUS_CODES } from 'messaging-webhooks'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { CARRIERS } from '../../src/public/events.ts'
import { recordOf } from '../../src/runtime/values.ts'
import { readTable } from '../support/vectors.ts'

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
