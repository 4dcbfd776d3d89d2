/** A record decodes to what was encoded, and a corrupt one never decodes in part. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decodeRecord, encodeRecord, endedAtMsIn } from '../../src/stores/codec.ts'
import { anyRecord } from '../messages/records.ts'

test('any record decodes to what was encoded', () => {
  fc.assert(
    fc.property(anyRecord, (record) => {
      const encoded = encodeRecord(record)
      expect(decodeRecord(encoded)).toEqual(record)
      expect(endedAtMsIn(encoded)).toBe(record.settled.at(-1)?.endedAtMs ?? 0)
    }),
  )
})

test('text cut at any place is corrupt, and so is any other JSON', () => {
  fc.assert(
    fc.property(anyRecord, fc.nat(), (record, at) => {
      const encoded = encodeRecord(record)
      expect(decodeRecord(encoded.slice(0, at % encoded.length))).toBeUndefined()
    }),
  )
  for (const other of ['', 'no', 'null', '7', '"text"', '{}', '[]', '[1]', '[1,0,"one"]', '[1,0,0,"","",0,{},[]]'])
    expect(decodeRecord(other), other).toBeUndefined()
  fc.assert(
    fc.property(fc.json(), (json) => {
      expect(decodeRecord(json)).toBeUndefined()
    }),
  )
})
