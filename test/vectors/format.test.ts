/** The format of the vectors refuses what is not of it; `readTable` checks every file against it. */
import { describe, expect, test } from 'vitest'
import { vectors } from '../support/vectors.ts'
import { fileOf } from './format.ts'

const FAMILIES = ['proof', 'signature', 'normalisation', 'identity', 'sequences'] as const

describe.each(FAMILIES)('%s.json', (family) => {
  test('gives each vector a unique name', () => {
    const names = vectors[family].map(({ name }) => name)
    expect(names).toEqual([...new Set(names)])
  })

  test('has bodies in standard base64', () => {
    const text = JSON.stringify(vectors[family])
    for (const [, body = ''] of text.matchAll(/"bodyBase64":"([^"]*)"/g))
      expect(Buffer.from(body, 'base64').toString('base64')).toBe(body)
  })
})

const [proof] = vectors.proof
const [sequence] = vectors.sequences
const wrong: readonly (readonly [name: string, family: (typeof FAMILIES)[number], vector: object])[] = [
  ['a field more', 'proof', { ...proof, note: 'x' }],
  ['a field less', 'proof', { ...proof, clock: undefined }],
  ['a policy that does not exist', 'proof', { ...proof, policy: 'neither' }],
  ['a verdict without a reason', 'proof', { ...proof, expected: { verdict: 'refused' } }],
  ['a reason that does not exist', 'proof', { ...proof, expected: { verdict: 'refused', reason: 'because' } }],
  ['a header without a value', 'proof', { ...proof, headers: [['X-Service-Signature']] }],
  ['a body that is not base64', 'proof', { ...proof, bodyBase64: '{}' }],
  [
    'an arrival before the first',
    'sequences',
    { ...sequence, expected: { ...sequence?.expected, dispatched: [{ arrival: -1, at: 0, late: false }] } },
  ],
  ['a vector of another family', 'signature', { ...proof }],
]

test.each(wrong)('%s is refused', (_, family, vector) => {
  const file = { version: 1, family, vectors: [...vectors[family], vector] }
  expect(fileOf(family).safeParse(file).success).toBe(false)
})

test('the right ones are accepted, but not of another version or family', () => {
  const file = { version: 1, family: 'proof', vectors: vectors.proof }
  const isAccepted = (change: object) => fileOf('proof').safeParse({ ...file, ...change }).success
  expect([{}, { version: 2 }, { family: 'identity' }].map(isAccepted)).toEqual([true, false, false])
})
