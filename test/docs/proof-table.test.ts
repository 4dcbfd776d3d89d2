/** The guide's table of proofs, each cell checked against a receiver over HTTP. */
import { PROOF_POLICIES } from '../../src/public/callback.ts'
import { callback, signCallback } from 'messaging-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { AUTH_KEY, receiving, SIGNING_SECRET } from '../support/receiving.ts'
import { readPage, render, tableOf } from '../../docs/markdown.ts'

const nowSeconds = Math.floor(Date.now() / 1_000)

/** The first column, as headers that a client could send; undefined without one. */
const HEADERS: Readonly<Record<string, readonly ((body: string) => string | undefined)[]>> = {
  holds: [(body) => signCallback(body, SIGNING_SECRET)],
  absent: [() => undefined],
  'wrong or malformed': [(body) => signCallback(body, 'another secret'), () => 'v1=', () => 't=1e9,v1=00'],
  '`t` too far off': [
    (body) => signCallback(body, SIGNING_SECRET, { timestamp: nowSeconds - 400 }),
    (body) => signCallback(body, SIGNING_SECRET, { timestamp: nowSeconds + 400 }),
    (body) => signCallback(body, 'another secret', { timestamp: nowSeconds - 400 }),
  ],
  'anything else': [() => undefined, (body) => signCallback(body, 'another secret'), () => 'v1='],
}

/** The second column, as fields of the body. */
const KEYS: Readonly<Record<string, readonly object[]>> = {
  holds: [{ authKey: AUTH_KEY }],
  'absent or wrong': [{}, { authKey: 'another key' }],
  anything: [{ authKey: AUTH_KEY }, {}, { authKey: 'another key' }],
}

const HEADER = ['Signature header', 'authKey', ...PROOF_POLICIES.map((policy) => `\`${policy}\``)]
const rows = tableOf(readPage('docs/guides/security.md'), 'authentic-callbacks', HEADER)

test('the table has every possible row', () => {
  expect(rows.map(([header, key]) => `${header ?? ''} / ${key ?? ''}`)).toEqual([
    'holds / holds',
    'holds / absent or wrong',
    'absent / holds',
    'wrong or malformed / holds',
    '`t` too far off / anything',
    'anything else / absent or wrong',
  ])
})

describe.each(rows.map((row) => ({ row })))('signature header $row.0, authKey $row.1', ({ row }) => {
  const [header = '', key = ''] = row

  test('gets the answer in the table, under every policy', async () => {
    const cells: string[] = []
    for (const proof of PROOF_POLICIES) {
      const { url, errors } = await receiving({}, { kind: 'status', proof })
      const outcomes = new Set<string>()
      for (const signature of HEADERS[header] ?? [])
        for (const fields of KEYS[key] ?? []) {
          errors.length = 0
          const body = JSON.stringify(callback.smsDelivery({ ...fields }))
          const value = signature(body)
          const response = await fetch(url, {
            method: 'POST',
            headers: value === undefined ? {} : { 'x-service-signature': value },
            body,
          })
          const isReported = errors.some(({ code }) => code === 'signature_ignored')
          outcomes.add(response.status === 401 ? 'no' : `yes${isReported ? ', reported' : ''}`)
        }
      cells.push([...outcomes].join(' or '))
    }
    expect(render([row])).toBe(render([[header, key, ...cells]]))
  })
})
