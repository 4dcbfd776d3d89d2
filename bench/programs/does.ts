/** What each contender does and does not do, next to the figures: a rate alone says little. */
import { CONTENDERS } from '../contenders/table.ts'
import type { Measured } from '../measure/rounds.ts'
import type { Table } from '../report/report.ts'

export function doesTable(measured: readonly Measured[]): Table {
  const columns = ['verifies', 'reads', 'dispatches', 'dedupes', 'orders', 'retries', 'stores'] as const
  return {
    head: ['does', ...columns],
    rows: measured.map(({ lane }) => {
      const { label, does } = CONTENDERS[lane.contender]
      return [label, ...columns.map((column) => (does[column] ? 'yes' : '-'))]
    }),
  }
}
