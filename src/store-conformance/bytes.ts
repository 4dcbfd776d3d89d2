/** Tests that a store keeps any text and any bytes, and that no event affects another. */
import assert from 'node:assert/strict'
import type { Report } from '../messages/event-record.ts'
import type { NewEvent } from '../messages/event-record.ts'
import { latestOf } from '../messages/views.ts'
import type { Claim } from '../dispatch/claim.ts'
import { admit, claim, digestOf, sample, samplesOf, settleAll } from './samples.ts'
import { die, itemsOf, recordOf, until, type ConformanceCase, type Fixture } from './suite.ts'

/** Texts that cause problems in databases, hash tags, joined keys and text columns. */
const AWKWARD_TEXTS: readonly string[] = [
  '\u0000',
  'a\u0000b',
  '\ud800',
  '\ud801',
  '\udc00\ud800',
  '\uFFFD',
  '{tag}',
  '}{',
  'a:b',
  'line\nbreak',
  'quote \' and " and \\',
  '$1 ? :name @p',
  '%s %d \\x00',
  '__proto__',
  'constructor',
  '12345678901234567890',
  '',
  ' ',
  '\u202Eright to left',
  '\u{1F4E8}'.repeat(100),
  'caf\u00e9',
  'cafe\u0301',
  '\u2028',
  'x'.repeat(200_000),
]

const AWKWARD_BYTES: readonly Buffer[] = [
  Buffer.alloc(0),
  Buffer.from([0]),
  Buffer.from(Array.from({ length: 256 }, (_, index) => index)),
  Buffer.from([0xff, 0xfe, 0x00, 0xd8]),
  Buffer.from([0xc3, 0x28]),
  Buffer.from('{"a":"\\u0000"}'),
  Buffer.from('{"a":"\\ud800"}'),
  Buffer.from('{"n":1e400}'),
  Buffer.from('{"n":1e200000}'),
  Buffer.from('{"n":12345678901234567890}'),
  Buffer.from('{"__proto__":{"a":1},"a":1,"a":2}'),
  Buffer.from('\uFEFF{"a":1}'),
  Buffer.from('{"a":1}', 'utf16le'),
  Buffer.from('{"a":1}\u0000{"a":2}'),
  Buffer.from(`${'['.repeat(10_000)}${']'.repeat(10_000)}`),
  Buffer.from('['.repeat(10_000)),
  Buffer.alloc(256 * 1024, 0x61),
]

/** `of` distinguishes the events of separate calls. */
function awkwardEvents(of: string): readonly NewEvent[] {
  const texts = AWKWARD_TEXTS.map((text, index) => {
    const event = sample({ message: `${of} text ${index}` })
    const report: Report = {
      type: 'message.failed',
      shape: 'chat-app',
      messageId: text,
      channel: text,
      status: text,
      recipient: text,
    }
    return { ...event, record: { ...event.record, project: text, report }, raw: Buffer.from(text) }
  })
  return [...texts, ...AWKWARD_BYTES.map((raw, index) => sample({ message: `${of} bytes ${index}`, raw }))]
}

/** Asserts that each event is claimed unchanged and becomes the latest state of its message. */
async function assertKept(open: Fixture['open'], events: readonly NewEvent[]): Promise<void> {
  const claims: Claim[] = []
  await until('each event is due', async () => {
    claims.push(...(await claim(open)).claims)
    return claims.length >= events.length
  })
  const claimed = new Map(claims.map(({ id, raw, record }) => [id, { raw, record }]))
  assert.equal(claimed.size, events.length)
  for (const { id, messageKey, raw, record } of events) {
    assert.ok(Buffer.isBuffer(claimed.get(id)?.raw), 'the bytes come back as a Buffer')
    assert.deepEqual(claimed.get(id), { raw, record })
    const stored = await recordOf(open, messageKey)
    assert.deepEqual(stored && latestOf(stored)?.record, record)
  }
  await settleAll(open, claims)
}

export const BYTES: readonly ConformanceCase[] = [
  {
    name: 'keeps awkward texts and bytes, each alone, in the middle of a batch, among its like, and as dead letters',
    async run({ open }) {
      for (const neighbours of [0, 3])
        for (const [index, event] of awkwardEvents(`beside ${neighbours}`).entries()) {
          const before = samplesOf(neighbours, `before ${index} `)
          const batch = [...before, event, ...samplesOf(neighbours, `after ${index} `)]
          assert.deepEqual(new Set(await admit(open, batch)), new Set(['new']))
          await assertKept(open, batch)
        }
      const events = awkwardEvents('all')
      assert.deepEqual(new Set(await admit(open, events)), new Set(['new']))
      await assertKept(open, events)
      assert.deepEqual(new Set(await admit(open, events)), new Set(['duplicate']))
      const dead = awkwardEvents('dead')
      await die(open, dead)
      const letters = await itemsOf(open, { of: 'deadLetters', after: undefined, limit: 7 })
      assert.deepEqual(
        new Map(letters.map(({ id, raw, record }) => [id, { raw: Buffer.from(raw), record }])),
        new Map(dead.map(({ id, raw, record }) => [id, { raw, record }])),
      )
    },
  },
  {
    name: 'keeps identities apart that differ in one digit',
    async run({ open }) {
      const digits = digestOf('any').slice(1)
      const events = samplesOf(16).map((event, index) => ({ ...event, id: `${index.toString(16)}${digits}` }))
      assert.deepEqual(new Set(await admit(open, events)), new Set(['new']))
      assert.deepEqual(new Set(await admit(open, events)), new Set(['duplicate']))
    },
  },
]
