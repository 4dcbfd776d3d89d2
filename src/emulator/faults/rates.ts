/** How often each fault happens. */
import { describe } from '../../check-options.ts'
import { nearest } from '../../did-you-mean.ts'
import { OptionsError } from '../../errors.ts'
import { FAULT_NAMES, type FaultName } from './faults.ts'

/** A rate from 0 (never, as for those left out) to 1 (always) for each fault. */
export type FaultRates = Readonly<Partial<Record<FaultName, number>>>

/** Reads rates from anywhere. Throws an `OptionsError` for a fault that does not exist, or for what is no rate. */
export function readFaultRates(value: unknown): FaultRates {
  if (value === undefined) return {}
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new OptionsError('`faults` must be an object of rates, such as { duplicate: 0.1 }.')
  const rates: Partial<Record<FaultName, number>> = {}
  for (const [name, rate] of Object.entries(value)) {
    const known = FAULT_NAMES.find((other) => other === name)
    if (known === undefined) {
      const near = nearest(name, FAULT_NAMES)
      const meant = near === undefined ? '' : ` Did you mean ${JSON.stringify(near)}?`
      const all = FAULT_NAMES.join(', ')
      throw new OptionsError(`\`faults\`: there is no ${JSON.stringify(name)}. There are: ${all}.${meant}`)
    }
    if (rate === undefined) continue
    if (typeof rate !== 'number' || !(rate >= 0 && rate <= 1))
      throw new OptionsError(`\`faults.${known}\` is ${describe(rate)}; expected a rate from 0 to 1.`)
    rates[known] = rate
  }
  return rates
}
