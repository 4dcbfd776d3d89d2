import { eventOf } from './events.ts'
import { eachInTurn } from './samples.ts'
import type { Step } from './step.ts'

export const event: Step = {
  what: 'read, normalise, identity and order together',
  prepare: () =>
    eachInTurn((sample) => {
      const made = eventOf(sample)
      if (made.record.report === undefined) throw new Error('A good report became no report.')
      return made
    }),
}
