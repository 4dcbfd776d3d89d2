import { MessagingWebhooksError } from 'messaging-webhooks'
import type { NewEvent } from 'messaging-webhooks/store'
import { expect, test } from 'vitest'
import { admitAroundPoison } from '../../src/inbox/poison.ts'
import type { Admission } from '../../src/messages/commands.ts'
import { sample } from '../../src/store-conformance/samples.ts'

const [first, second, third] = [sample({ at: 1 }), sample({ at: 2 }), sample({ at: 3 })]

/** A store that refuses events by their key, and throws the given value. */
function refusing(ids: readonly string[], thrown: unknown = new Error('refused')) {
  return (events: readonly NewEvent[]): readonly Admission[] => {
    if (events.some(({ id }) => ids.includes(id))) throw thrown
    return events.map(() => 'new')
  }
}

test.each([[new Error('refused')], ['a text'], [undefined]])(
  'accepts the others of a batch with a refused event (thrown: %s)',
  async (thrown) => {
    const results = await admitAroundPoison(refusing([second.id], thrown), [first, second, third])
    expect(results).toEqual(['new', expect.any(Error), 'new'])
  },
)

test('if the store refuses the first two, it counts as unavailable, and no third is offered', async () => {
  const asked: number[] = []
  const admit = (events: readonly NewEvent[]): readonly Admission[] => {
    asked.push(events.length)
    throw new Error('unavailable')
  }
  await expect(admitAroundPoison(admit, [first, second, third])).rejects.toThrow('unavailable')
  // The batch, each of the two alone, and once more in both forms.
  expect(asked).toEqual([3, 1, 1, 1, 1, 1, 1])
})

test('if no caller waits, two refused events at the head do not hold back those behind them', async () => {
  const results = await admitAroundPoison(refusing([first.id, second.id]), [first, second, third], 3)
  expect(results).toEqual([expect.any(Error), expect.any(Error), 'new'])
})

test('an event refused during an outage keeps its meaning once the store accepts the next', async () => {
  const offered: NewEvent[] = []
  let calls = 0
  const admit = (events: readonly NewEvent[]): readonly Admission[] => {
    calls += 1
    if (calls <= 2) throw new Error('unavailable for a moment')
    offered.push(...events)
    return events.map(() => 'new')
  }
  expect(await admitAroundPoison(admit, [first, second])).toEqual(['new', 'new'])
  expect(offered).toEqual([second, first])
})

test('an event accepted only without its meaning proves that the store is available for the rest', async () => {
  const admit = (events: readonly NewEvent[]): readonly Admission[] => {
    if (events.some(({ record }) => record.problem === undefined)) throw new Error('refused')
    return events.map(() => 'new')
  }
  expect(await admitAroundPoison(admit, [first, second, third])).toEqual(['new', 'new', 'new'])
  expect(await admitAroundPoison(admit, [first])).toEqual(['new'])
})

test('a store that fails while events are offered alone costs none of them its meaning', async () => {
  const offered: NewEvent[] = []
  const cut = new MessagingWebhooksError('store_failed')
  const admit = (events: readonly NewEvent[]): readonly Admission[] => {
    offered.push(...events)
    if (events.length > 1) throw new Error('refused')
    if (offered.length > 3) throw cut
    return ['new']
  }
  await expect(admitAroundPoison(admit, [first, second])).rejects.toBe(cut)
  expect(offered.map(({ record }) => record.problem)).toEqual(offered.map(() => undefined))
})
