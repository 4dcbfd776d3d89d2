/** The latest state: the same for every order of arrival, and it never goes back. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { NewEvent, StoredLatest } from '../inbox/store.ts'
import { admit, handOverAll, loneSample, sample } from './samples.ts'
import type { ConformanceCase } from './suite.ts'

function shown(latest: StoredLatest | undefined): unknown {
  const status = ({ report }: StoredLatest['record']): string | undefined => report?.status
  return latest && { newest: status(latest.record), finals: latest.finals.map(status) }
}

export const LATEST: readonly ConformanceCase[] = [
  {
    name: 'knows nothing of a message that it has not seen, and nothing of events of no message',
    async run({ open }) {
      const lone = loneSample('payment')
      await admit(open, [lone])
      assert.equal(await open.latest(lone.messageKey), undefined)
      assert.equal(await open.latest(sample().messageKey), undefined)
    },
  },
  {
    name: 'holds the newest report and all final ones, also after all is settled',
    async run({ open }) {
      const { messageKey } = sample()
      await admit(open, [sample({ at: 3, final: true }), sample({ at: 1 }), sample({ at: 2, final: true })])
      const expected = { newest: 'm-3', finals: ['m-2', 'm-3'] }
      assert.deepEqual(shown(await open.latest(messageKey)), expected)
      await handOverAll(open)
      assert.deepEqual(shown(await open.latest(messageKey)), expected)
    },
  },
  {
    name: 'ends in the same state for every permutation with every duplication',
    async run({ open }) {
      let messages = 0
      const arrivals = fc
        .array(fc.record({ at: fc.integer({ min: 1, max: 6 }), final: fc.boolean() }), { minLength: 1, maxLength: 8 })
        .chain((reports) =>
          fc.tuple(
            fc.constant(reports),
            fc.shuffledSubarray([...reports, ...reports], { minLength: reports.length * 2 }),
          ),
        )
      await fc.assert(
        fc.asyncProperty(arrivals, async ([reports, shuffled]) => {
          const states: unknown[] = []
          for (const sequence of [reports, shuffled]) {
            const message = `m${(messages += 1)}`
            const events = sequence.map(({ at, final }): NewEvent => {
              const name = `${at} ${final}`
              const event = sample({ message, at, final, name: `${message} ${name}` })
              // The same report in either message, so that the two states can be compared.
              return {
                ...event,
                order: `${event.order.slice(0, 25)}${name}`,
                record: {
                  ...event.record,
                  report: { type: 'message.sent', shape: 'sms', messageId: 'm', channel: 'sms', status: name },
                },
              }
            })
            for (const event of events) await admit(open, [event])
            await handOverAll(open)
            states.push(shown(await open.latest(sample({ message }).messageKey)))
          }
          assert.deepEqual(states[0], states[1])
        }),
        { numRuns: 30 },
      )
    },
  },
]
