import { normaliseStatus } from '../../src/carriers/report.ts'
import { eachInTurn } from './samples.ts'
import type { Step } from './step.ts'

export const normalise: Step = {
  what: 'the sender’s word to the one vocabulary',
  prepare: () =>
    eachInTurn(({ fields }) => {
      const normalised = normaliseStatus({ status: String(fields['status']) })
      if (normalised?.type !== 'message.delivered') throw new Error('A known word was not known.')
      return normalised
    }),
}
