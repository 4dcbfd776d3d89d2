/** What every store asks of its bounds and times: at 0, or where a variable was not set, none of them means anything. */
import { OptionsError } from '../errors.ts'

/** Throws an `OptionsError` that names the function and the option. */
export function requireAboveZero(store: string, bounds: Readonly<Record<string, number>>): void {
  for (const [name, value] of Object.entries(bounds))
    if (!(value > 0)) throw new OptionsError(`${store}: ${name} is ${String(value)}; expected a number above 0.`)
}
