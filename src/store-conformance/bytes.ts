/** One event never harms another: a store holds any proven bytes. */
import assert from 'node:assert/strict'
import type { Report } from '../inbox/record.ts'
import type { NewEvent } from '../inbox/store.ts'
import { admit, claim, digestOf, sample, settlementOf, START_MS } from './samples.ts'
import type { ConformanceCase } from './suite.ts'

/** Names and words that databases, hash tags, joined keys and text columns stumble over. */
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

function awkwardEvents(): readonly NewEvent[] {
  const texts = AWKWARD_TEXTS.map((text, index) => {
    const event = sample({ message: `awkward text ${index}` })
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
  return [...texts, ...AWKWARD_BYTES.map((raw, index) => sample({ message: `awkward bytes ${index}`, raw }))]
}

async function takeBack(
  open: Parameters<typeof claim>[0],
): Promise<ReadonlyMap<string, { readonly raw: Buffer; readonly record: unknown }>> {
  const { claims } = await claim(open, { limit: 1_000 })
  await open.settle(
    claims.map((claimed) => settlementOf(claimed, { outcome: 'done' })),
    START_MS,
  )
  return new Map(claims.map(({ id, raw, record }) => [id, { raw: Buffer.from(raw), record }]))
}

export const BYTES: readonly ConformanceCase[] = [
  {
    name: 'holds awkward texts and bytes, each alone',
    async run({ open }) {
      for (const event of awkwardEvents()) {
        assert.deepEqual(await admit(open, [event]), ['new'])
        const { id, raw, record } = event
        assert.deepEqual((await takeBack(open)).get(id), { raw, record })
      }
    },
  },
  {
    name: 'holds awkward texts and bytes in the middle of a batch of fifty, and its neighbours',
    async run({ open }) {
      for (const [index, event] of awkwardEvents().entries()) {
        const good = Array.from({ length: 49 }, (_, at) => sample({ message: `good ${index} ${at}` }))
        const batch = [...good.slice(0, 25), event, ...good.slice(25)]
        assert.deepEqual(new Set(await admit(open, batch)), new Set(['new']))
        const back = await takeBack(open)
        assert.equal(back.size, 50)
        assert.deepEqual(back.get(event.id), { raw: event.raw, record: event.record })
      }
    },
  },
  {
    name: 'holds awkward texts and bytes all in one batch, and after that once more as duplicates',
    async run({ open }) {
      const events = awkwardEvents()
      assert.deepEqual(new Set(await admit(open, events)), new Set(['new']))
      const back = await takeBack(open)
      for (const { id, raw, record } of events) assert.deepEqual(back.get(id), { raw, record })
      assert.deepEqual(new Set(await admit(open, events)), new Set(['duplicate']))
    },
  },
  {
    name: 'keeps of which trace a request was part: through a retry, as a dead letter and through its replay',
    async run({ open }) {
      const { id, record } = sample()
      const { traceparent, tracestate } = record
      assert.ok(traceparent !== undefined && tracestate !== undefined)
      await admit(open, [sample()])
      for (const outcome of [
        { outcome: 'retry', dueMs: START_MS, error: 'not yet' },
        { outcome: 'dead', error: 'never' },
      ] as const) {
        const { claims } = await claim(open)
        assert.deepEqual(
          claims.map((claimed) => claimed.record),
          [record],
        )
        await open.settle(
          claims.map((claimed) => settlementOf(claimed, outcome)),
          START_MS,
        )
      }
      const { items } = await open.deadLetters({ after: undefined, limit: 1 })
      assert.deepEqual(
        items.map((letter) => letter.record),
        [record],
      )
      await open.resolve(id, 'replay', START_MS)
      const { claims } = await claim(open)
      assert.deepEqual(
        claims.map((claimed) => claimed.record),
        [record],
      )
    },
  },
  {
    name: 'keeps identities apart that differ in one digit',
    async run({ open }) {
      const digits = digestOf('any').slice(1)
      const events = Array.from('0123456789abcdef').map((digit) => ({
        ...sample({ message: digit }),
        id: `${digit}${digits}`,
      }))
      assert.deepEqual(new Set(await admit(open, events)), new Set(['new']))
      assert.deepEqual(new Set(await admit(open, events)), new Set(['duplicate']))
    },
  },
]
