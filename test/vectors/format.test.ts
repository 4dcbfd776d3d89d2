/** The vector files match the published schema, and the schema refuses invalid ones. */
import { readFileSync } from 'node:fs'
import { vectors } from 'messaging-webhooks/vectors'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { vectorsJsonSchema } from '../../src/vectors/format.ts'

const FAMILIES = ['proof', 'signature', 'normalisation', 'identity', 'sequences'] as const

const jsonSchema = z.record(z.string(), z.unknown()).parse(JSON.parse(JSON.stringify(vectorsJsonSchema())))
const schema = z.fromJSONSchema(jsonSchema)

describe.each(FAMILIES)('%s.json', (family) => {
  const file = read(family)

  test('is valid', () => {
    expect(schema.safeParse(file).error).toBeUndefined()
    expect(file).toMatchObject({ $schema: './schema.json', version: 1, family })
  })

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
const wrong: readonly (readonly [name: string, family: string, vector: object])[] = [
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
    { ...sequence, expected: { dispatched: [{ arrival: -1 }], states: [] } },
  ],
  ['a vector of another family', 'signature', { ...proof }],
]

test.each(wrong)('%s is refused', (_, family, vector) => {
  const document = { $schema: './schema.json', version: 1, family, vectors: [vector] }
  expect(schema.safeParse(JSON.parse(JSON.stringify(document))).success).toBe(false)
})

test('the schema names its draft, accepts the combined file, and refuses another version', () => {
  expect(jsonSchema['$schema']).toBe('https://json-schema.org/draft/2020-12/schema')
  expect(schema.safeParse(vectors).error).toBeUndefined()
  expect(schema.safeParse({ ...vectors, version: 2 }).success).toBe(false)
})

function read(name: string): unknown {
  return JSON.parse(readFileSync(new URL(`../../src/vectors/${name}.json`, import.meta.url), 'utf8'))
}
