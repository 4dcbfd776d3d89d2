import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createDueHeap } from '../../../src/stores/memory/due-heap.ts'

test('entries come out by time, equal ones in the order in which they went in, whatever is pushed meanwhile', () => {
  const steps = fc.array(fc.oneof(fc.record({ dueMs: fc.nat({ max: 20 }) }), fc.constant('pop' as const)))
  fc.assert(
    fc.property(steps, (played) => {
      const heap = createDueHeap<number>()
      const model: { readonly dueMs: number; readonly value: number }[] = []
      for (const [value, step] of played.entries()) {
        if (step === 'pop') {
          heap.pop()
          model.shift()
        } else {
          heap.push(step.dueMs, value)
          model.push({ dueMs: step.dueMs, value })
          model.sort((a, b) => a.dueMs - b.dueMs || a.value - b.value)
        }
        const peeked = heap.peek()
        expect(peeked && { dueMs: peeked.dueMs, value: peeked.value }).toEqual(model[0])
      }
    }),
    { numRuns: 500 },
  )
})
