/** How often each fault happens. */
import { describe } from '../../check-options.ts'
import { nearest } from '../../did-you-mean.ts'
import { OptionsError } from '../../errors.ts'
import { FAULT_NAMES, type FaultName } from './faults.ts'
import { SEND_FAULT_NAMES, type SendFaultRates } from './send-faults.ts'

/** A rate from 0 (never, as for those left out) to 1 (always) for each fault. */
export type FaultRates = Readonly<Partial<Record<FaultName, number>>>

/** Reads rates from anywhere. Throws an `OptionsError` for a fault that does not exist, or for what is no rate. */
export function readFaultRates(value: unknown): FaultRates {
  return readRates('faults', value, FAULT_NAMES)
}

/** The same, of the faults of answers to sends. */
export function readSendFaultRates(value: unknown): SendFaultRates {
  return readRates('sendFaults', value, SEND_FAULT_NAMES)
}

function readRates<N extends string>(option: string, value: unknown, names: readonly N[]): Partial<Record<N, number>> {
  const rates: Partial<Record<N, number>> = {}
  if (value === undefined) return rates
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new OptionsError(`\`${option}\` must be an object of rates, such as { ${names[0] ?? ''}: 0.1 }.`)
  for (const [name, rate] of Object.entries(value)) {
    const known = names.find((other) => other === name)
    if (known === undefined) {
      const near = nearest(name, names)
      const meant = near === undefined ? '' : ` Did you mean ${JSON.stringify(near)}?`
      const all = names.join(', ')
      throw new OptionsError(`\`${option}\`: there is no ${JSON.stringify(name)}. There are: ${all}.${meant}`)
    }
    if (rate === undefined) continue
    if (typeof rate !== 'number' || !(rate >= 0 && rate <= 1))
      throw new OptionsError(`\`${option}.${known}\` is ${describe(rate)}; expected a rate from 0 to 1.`)
    rates[known] = rate
  }
  return rates
}
