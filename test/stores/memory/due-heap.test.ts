import fc from 'fast-check'
import { expect, test } from 'vitest'
import { popDue, pushDue } from '../../../src/stores/memory/due-heap.ts'

test('entries come out by time, equal ones in the order in which they went in, whatever is pushed meanwhile', () => {
  const steps = fc.array(fc.oneof(fc.record({ dueMs: fc.nat({ max: 20 }) }), fc.constant('pop' as const)))
  fc.assert(
    fc.property(steps, (played) => {
      const due: { readonly dueMs: number; readonly sequence: number }[] = []
      const model: typeof due = []
      for (const [sequence, step] of played.entries()) {
        if (step === 'pop') {
          popDue(due)
          model.shift()
        } else {
          pushDue(due, { dueMs: step.dueMs, sequence })
          model.push({ dueMs: step.dueMs, sequence })
          model.sort((a, b) => a.dueMs - b.dueMs || a.sequence - b.sequence)
        }
        expect(due[0]).toEqual(model[0])
      }
    }),
    { numRuns: 500 },
  )
})
