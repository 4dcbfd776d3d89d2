import { isRecord, textOf } from '../runtime/values.ts'

/**
 * The parsed body without its authKey, whose value is masked in these bytes already; undefined for what is no JSON, for
 * masking by value may have spoilt an escape. Each call makes a copy of its own.
 */
export function payloadIn(masked: Buffer): unknown {
  let value: unknown
  try {
    value = JSON.parse(textOf(masked))
  } catch {
    return undefined
  }
  if (!isRecord(value)) return value
  const { authKey: _, ...payload } = value
  return payload
}
