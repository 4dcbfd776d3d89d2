import { readReport } from '../../src/carriers/report.ts'
import { eachInTurn } from './samples.ts'
import type { Step } from './step.ts'

export const read: Step = {
  what: 'fields to a report, by zod',
  prepare() {
    const nowMs = Date.now()
    return eachInTurn(({ fields }) => {
      const report = readReport(fields, 'status', nowMs, () => '')
      if (typeof report === 'string') throw new Error('A good report was not read.')
      return report
    })
  },
}
